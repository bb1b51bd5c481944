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

// download writes rows to a CSV file of the project. They are never in memory together.
type download struct {
	folder, name string
	root         *os.Root // these are there from the first row on
	file         *os.File
	out          *bufio.Writer
	fields       []Column
	whole        bool // the file has all rows
}

func newDownload(t *operators.Task, file string) (*download, error) {
	name, err := t.FileName(file)
	if err != nil {
		return nil, param.Errorf("%v", err)
	}
	return &download{folder: t.Files.Root(), name: name}, nil
}

func (d *download) open() error {
	var err error
	if d.root, err = os.OpenRoot(d.folder); err != nil {
		return fmt.Errorf("open the project: %w", err)
	}
	if err = d.root.MkdirAll(path.Dir(d.name), 0o755); err == nil {
		d.file, err = d.root.Create(d.name)
	}
	if err != nil {
		return fmt.Errorf("make %s: %w", d.name, err)
	}
	d.out = bufio.NewWriter(d.file)
	return nil
}

// Close leaves no file that has only a part of the rows.
func (d *download) Close() {
	if d.file != nil {
		d.file.Close() // result has closed it where its content counts
		if !d.whole {
			d.root.Remove(d.name) //nolint:errcheck // the failure before it is what counts
		}
	}
	if d.root != nil {
		d.root.Close()
	}
}

func (d *download) Columns(fields []Column) error {
	if err := d.open(); err != nil {
		return err
	}
	d.fields = fields
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = csvText(f.Name)
	}
	return d.line(names)
}

func (d *download) Row(values [][]byte) error {
	texts := make([]string, len(values))
	for i, v := range values {
		if v != nil { // null is nothing at all, an empty text is ""
			texts[i] = csvText(d.fields[i].csv(string(v)))
		}
	}
	return d.line(texts)
}

func (d *download) line(texts []string) error {
	if _, err := io.WriteString(d.out, strings.Join(texts, ",")+"\r\n"); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

func (d *download) Result(func([]Column) error) (operators.Result, error) {
	if err := errors.Join(d.out.Flush(), d.file.Close()); err != nil {
		return operators.Result{}, fmt.Errorf("write the result: %w", err)
	}
	d.whole = true
	return operators.Result{}, nil
}

// csvText quotes what has to be; ends of lines within a value are line feeds.
func csvText(text string) string {
	if text == "" {
		return `""`
	}
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", `"`, `""`).Replace(text)
	if strings.ContainsAny(text, "\",\n") {
		return `"` + text + `"`
	}
	return text
}
