package wire

import (
	"zerodag/engine/param"
)

// File holds the name and size of a project file.
type File struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
}

// Files lists a revision's files.
type Files struct {
	Revision string `json:"revision"`
	Files    []File `json:"files"`
	All      bool   `json:"all"` // false: the archive has more files than are read
}

// Text is a file's content.
type Text struct {
	Path     string  `json:"path"`
	Revision string  `json:"revision"`
	Size     int64   `json:"size"`
	Text     *string `json:"text"` // null if the file is larger than mostText or is not text
}

// Comparison shows the differences between two attempts.
type Comparison struct {
	With     *Brief          `json:"with"`
	Looked   bool            `json:"looked"` // all earlier attempts were searched
	Revision FromTo[*string] `json:"revision"`
	Files    []FileChange    `json:"files"` // null if they cannot be compared
	Params   []Param         `json:"params"`
	Tasks    []Took          `json:"tasks"`
}

// FromTo holds the values of the earlier and the later attempt.
type FromTo[T any] struct {
	From T `json:"from"`
	To   T `json:"to"`
}

// FileChange is a file that differs.
type FileChange struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
}

// Param is a parameter that differs.
type Param struct {
	Name string `json:"name"`
	FromTo[Value]
}

// Took is a task with its duration in milliseconds.
type Took struct {
	Name string `json:"name"`
	FromTo[int64]
}

// Value is the value of a parameter.
type Value struct{ param.Value }

// MarshalJSON writes the value with its keys in order.
func (v Value) MarshalJSON() ([]byte, error) { return param.AppendJSON(nil, v.Value), nil }
