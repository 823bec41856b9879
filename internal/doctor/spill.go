package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/airlock-exec/airlock/internal/limits"
)

const spillPurpose = "for output that does not stay in memory (airlock serve --spill-dir)"

// spillFolder tells whether output can be kept in temporary files.
func (h *host) spillFolder() result {
	facts := map[string]any{"folder": h.temp}
	file, err := h.openTemp(h.temp)
	if err != nil {
		return result{status: Missing, found: "no temporary file can be made: " + err.Error(), mend: mendTemp(h.temp, err), facts: facts}
	}
	facts["nameless"], facts["reserved"] = file.nameless, file.reserved
	r := result{status: OK, found: "files can be made in " + h.temp, facts: facts}
	var notes []string
	if !file.nameless {
		notes = append(notes, "they have a name for a moment")
	}
	if !file.reserved {
		notes = append(notes, "room can't be reserved for them, which makes them slower")
	}
	free, err := h.free(h.temp)
	switch {
	case err != nil:
		notes = append(notes, "how much is free is not known: "+err.Error())
	case free < limits.SpillBytes:
		r.status = Weaker
		notes = append(notes, fmt.Sprintf("%s are free, but one process may need %s: then its oldest output is dropped",
			sizeText(free), sizeText(limits.SpillBytes)))
		r.mend = fmt.Sprintf("Make room in %s, choose another folder by --spill-dir or TMPDIR, or ask for less by --spill-bytes.", h.temp)
	case free < limits.SpillTotalBytes:
		notes = append(notes, fmt.Sprintf("%s are free, where all processes together may need %s",
			sizeText(free), sizeText(limits.SpillTotalBytes)))
	default:
		notes = append(notes, sizeText(free)+" are free")
	}
	if err == nil {
		facts["freeBytes"] = free
	}
	r.found += "; " + strings.Join(notes, "; ")
	return r
}

// mendTemp says what to do about a folder for temporary files.
func mendTemp(folder string, err error) string {
	const other = ", or name another folder by TMPDIR or --spill-dir."
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "Make the folder " + folder + other
	case errors.Is(err, fs.ErrPermission):
		return "Let this user write to " + folder + " (`chmod 1777` is usual for one that all users share)" + other
	case isReadOnly(err):
		return "Mount a file system that can be written to at " + folder + " (in a container: a volume, or `--tmpfs " + folder + "`)" + other
	case isFull(err):
		return "Make room in " + folder + other
	default:
		return "See to the folder " + folder + other
	}
}
