package sql

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"zerodag/engine/param"
	"zerodag/operators"
)

// CSV is a project file to which rows are written. The rows are never all in memory.
type CSV struct {
	folder, name string
	root         *os.Root // these are set once the header is written
	file         *os.File
	out          *bufio.Writer
	whole        bool // the file is complete
}

// NewCSV returns a file of a task; nothing is written before the header.
func NewCSV(t *operators.Task, file string) (*CSV, error) {
	name, err := t.FileName(file)
	if err != nil {
		return nil, param.Errorf("%v", err)
	}
	return &CSV{folder: t.Files.Root(), name: name}, nil
}

// Header creates the file, and writes the names of its columns.
func (c *CSV) Header(names []string) error {
	if err := c.open(); err != nil {
		return err
	}
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = CSVText(name)
	}
	return c.Line(texts)
}

func (c *CSV) open() error {
	var err error
	if c.root, err = os.OpenRoot(c.folder); err != nil {
		return fmt.Errorf("open the project: %w", err)
	}
	if err = c.root.MkdirAll(path.Dir(c.name), 0o755); err == nil {
		c.file, err = c.root.Create(c.name)
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", c.name, err)
	}
	c.out = bufio.NewWriter(c.file)
	return nil
}

// Line writes one row: values as formatted by CSVText, and "" for null.
func (c *CSV) Line(texts []string) error {
	if _, err := io.WriteString(c.out, strings.Join(texts, ",")+"\r\n"); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// Keep keeps the file. It is called after the last row; without it, Close removes the file.
func (c *CSV) Keep() error {
	if err := errors.Join(c.out.Flush(), c.file.Close()); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	c.whole = true
	return nil
}

// Close removes an incomplete file.
func (c *CSV) Close() {
	if c.file != nil {
		c.file.Close() // if its content matters, Keep has already closed it
		if !c.whole {
			c.root.Remove(c.name) //nolint:errcheck // the failure before it matters more
		}
	}
	if c.root != nil {
		c.root.Close()
	}
}

// download writes a query's rows to a CSV file in the project.
type download struct {
	*CSV
	fields []Column
}

func newDownload(t *operators.Task, file string) (*download, error) {
	c, err := NewCSV(t, file)
	if err != nil {
		return nil, err
	}
	return &download{CSV: c}, nil
}

func (d *download) Columns(fields []Column) error {
	d.fields = fields
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return d.Header(names)
}

func (d *download) Row(values [][]byte) error {
	texts := make([]string, len(values))
	for i, v := range values {
		if v != nil { // null is written as nothing at all, empty text as ""
			texts[i] = CSVText(d.fields[i].csv(string(v)))
		}
	}
	return d.Line(texts)
}

func (d *download) Result(func([]Column) error) (operators.Result, error) {
	return operators.Result{}, d.Keep()
}

// CSVText quotes text if necessary; line breaks within a value become line feeds.
func CSVText(text string) string {
	switch {
	case text == "":
		return `""`
	case !strings.ContainsAny(text, "\",\r\n"):
		return text
	}
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", `"`, `""`).Replace(text)
	return `"` + text + `"`
}
