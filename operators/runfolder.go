package operators

import "path"

// Names of the folder in a project that holds the saved state, the parameters and the temporary files of its runs.
// `zerodag run` chooses between them (projectfolder.Folder); everything that copies or watches projects leaves out both.
const (
	RunFolder       = ".zerodag"
	DigdagRunFolder = ".digdag"
)

// TempFolder returns the folder for temporary files in a run folder.
func TempFolder(runFolder string) string { return path.Join(runFolder, "tmp") }
