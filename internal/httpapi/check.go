package httpapi

import (
	"zerodag/internal/check"
)

type checkBody struct {
	Files map[string]string `json:"files"`
}

type restFindings struct {
	Findings []restFinding `json:"findings"`
	All      bool          `json:"all"` // false: there are more than an answer has
}

type restFinding struct {
	File    *string `json:"file"`
	Line    int     `json:"line"`   // from 1; 0 where it is not known
	Column  int     `json:"column"` // from 1; 0 where it is not known
	Task    *string `json:"task"`
	Code    string  `json:"code"`
	Refused bool    `json:"refused"`
	Message string  `json:"message"`
	Hint    *string `json:"hint"`
}

// Bounds of what is checked, and of what is said of it.
const (
	mostChecked  = 4 << 20 // bytes of a request
	mostFiles    = 2000
	mostFindings = 1000
)

func checkFiles(c *call) (any, error) {
	var b checkBody
	c.mostBody = mostChecked
	if err := c.read(&b, false); err != nil {
		return nil, err
	}
	if b.Files == nil {
		return nil, notSet("files")
	}
	if len(b.Files) > mostFiles {
		return nil, invalid("%d files are checked at once, and these are %d: send those that changed and what they include", mostFiles, len(b.Files))
	}
	found := check.Files(b.Files, c.Syntax)
	shown := found[:min(len(found), mostFindings)]
	return restFindings{each(shown, finding), len(shown) == len(found)}, nil
}

func finding(f check.Finding) restFinding {
	return restFinding{File: textOrNull(f.File), Line: f.Line, Column: f.Column, Task: textOrNull(beginning(f.Task)), Code: f.Code,
		Refused: f.Code == check.Refused || f.Code == check.Empty, Message: beginning(f.Message), Hint: textOrNull(beginning(f.Hint))}
}
