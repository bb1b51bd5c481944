package operators

import "path"

// Names of the folder in a project that holds the saved state, the parameters and the temporary files of its runs.
// Package projectfolder chooses between them. Projects never include either, as the names begin with a dot.
const (
	RunFolder       = ".zerodag"
	DigdagRunFolder = ".digdag"
)

// TempFolder returns the folder for temporary files in a run folder.
func TempFolder(runFolder string) string { return path.Join(runFolder, "tmp") }
