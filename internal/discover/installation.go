package discover

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/airlock-exec/airlock/internal/limits"
)

// pluginPlace is where the Codex home has a plugin:
// plugins/cache/MARKETPLACE/NAME/VERSION.
type pluginPlace struct{ marketplace, name, version, dir string }

// installedPlugins returns the plugins of a Codex home in the order of their ids,
// of each the newest version, and whether there are more of something than is
// looked at.
func installedPlugins(home string) (places []pluginPlace, incomplete bool) {
	cache := filepath.Join(home, "plugins", "cache")
	list := func(dir, extra string) []string {
		names, more := listNames(dir, limits.InstalledNames, func(name string) bool { return isPluginName(name, extra) })
		incomplete = incomplete || more
		return names
	}
	for _, marketplace := range list(cache, "") {
		for _, name := range list(filepath.Join(cache, marketplace), ".") {
			dir := filepath.Join(cache, marketplace, name)
			versions := slices.DeleteFunc(list(dir, ".+"), func(version string) bool {
				return !isRealDir(filepath.Join(dir, version))
			})
			if len(versions) == 0 {
				continue
			}
			version := slices.MaxFunc(versions, compareVersions)
			places = append(places, pluginPlace{marketplace, name, version, filepath.Join(dir, version)})
		}
	}
	slices.SortFunc(places, func(a, b pluginPlace) int {
		return strings.Compare(a.name+"@"+a.marketplace, b.name+"@"+b.marketplace)
	})
	if len(places) > limits.InstalledPlugins {
		return places[:limits.InstalledPlugins], true
	}
	return places, incomplete
}

// isPluginName tells whether a folder may be that of a plugin: names have letters,
// digits, _ and -, some have more.
func isPluginName(name, more string) bool {
	fits := func(c rune) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			c == '_' || c == '-' || strings.ContainsRune(more, c)
	}
	return !strings.HasPrefix(name, ".") && !strings.ContainsFunc(name, func(c rune) bool { return !fits(c) })
}

// localVersion is what a plugin is that its user works on.
const localVersion = "local"

// compareVersions orders versions: numbers by their parts, anything else by its
// letters, and what its user works on last.
func compareVersions(a, b string) int {
	if (a == localVersion) != (b == localVersion) {
		return cmp.Compare(strconv.FormatBool(a == localVersion), strconv.FormatBool(b == localVersion))
	}
	x, isX := parseVersion(a)
	y, isY := parseVersion(b)
	if !isX || !isY {
		return strings.Compare(a, b)
	}
	return cmp.Or(slices.Compare(x.parts[:], y.parts[:]), comparePrerelease(x.prerelease, y.prerelease), strings.Compare(a, b))
}

type version struct {
	parts      [3]uint64
	prerelease string
}

// parseVersion reads MAJOR.MINOR.PATCH, with -PRERELEASE and +BUILD if they are
// there.
func parseVersion(text string) (v version, ok bool) {
	text, _, _ = strings.Cut(text, "+")
	text, v.prerelease, _ = strings.Cut(text, "-")
	parts := strings.Split(text, ".")
	if len(parts) != len(v.parts) {
		return version{}, false
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 64)
		if err != nil {
			return version{}, false
		}
		v.parts[i] = n
	}
	return v, true
}

// comparePrerelease orders what comes before a version, which is newer than all of
// that.
func comparePrerelease(a, b string) int {
	if a == "" || b == "" {
		return cmp.Compare(len(b), len(a))
	}
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	return slices.CompareFunc(x, y, func(a, b string) int {
		m, errA := strconv.ParseUint(a, 10, 64)
		n, errB := strconv.ParseUint(b, 10, 64)
		switch {
		case errA == nil && errB == nil:
			return cmp.Compare(m, n)
		case errA == nil:
			return -1 // numbers come before words
		case errB == nil:
			return 1
		}
		return strings.Compare(a, b)
	})
}

// isRealDir tells whether a path is a folder, and no symbolic link to one.
func isRealDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// remoteFile says where a plugin was installed from.
const remoteFile = ".codex-remote-plugin-install.json"

// remoteID returns the plugin's id where it was installed from, nil if it is not
// said, and whether what is said makes sense.
func (p pluginPlace) remoteID() (_ *string, known bool) {
	data, err := readFile(filepath.Join(filepath.Dir(p.dir), remoteFile), limits.DiscoveryFileBytes)
	if err != nil {
		return nil, isMissing(err)
	}
	members := objectOf(data)
	id, isText := textOf(members["remote_plugin_id"])
	if string(members["schema_version"]) != "1" || !isText || strings.TrimSpace(id) == "" {
		return nil, false
	}
	return &id, true
}
