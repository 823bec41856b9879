package tree

// candidates are the means of the system.
var candidates = []candidate{{Job, openJobs}}
