package helper

// wardenCommand is the subcommand that runs the warden.
const wardenCommand = "warden"

// execCommand is the subcommand that executes a program.
const execCommand = "exec"

// sandboxCommand is the subcommand that executes a program in a confinement.
const sandboxCommand = "sandbox"

// stageCommand is the subcommand that the helper executes itself with, inside, when
// there is something to do that only the process can that will be the program's.
const stageCommand = "stage"

// Sandbox returns how to execute what executes a program in a confinement: see
// [Command], and [plan.ControlFD].
func Sandbox() (path string, argv []string, err error) { return Command(sandboxCommand) }

// Exec returns how to execute what executes a program, with package plan: see
// [Command].
func Exec() (path string, argv []string, err error) { return Command(execCommand) }

// Warden returns how to execute the warden: see [Command].
func Warden() (path string, argv []string, err error) { return Command(wardenCommand) }

// Command returns how to execute the helper with arguments: the file, and the
// argument list from argv[0] on. The file is a path that holds in this process
// and in what it forks, as long as this process lives; for a fork by package
// syscall that is so if one of the descriptors in Files comes from [Raise].
//
// A program that contains no helper gets [ErrNoHelper], a system for which there
// is none an error that is [errors.ErrUnsupported].
func Command(args ...string) (path string, argv []string, err error) {
	path, err = program()
	if err != nil {
		return "", nil, err
	}
	return path, append([]string{Name}, args...), nil
}
