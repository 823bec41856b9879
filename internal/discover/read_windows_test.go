package discover

const noSuchFile = "The system cannot find the file specified. (os error 2)"
