package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pages writes the page of the manual and the completions of shells, as the program itself knows them.
func (r *release) pages() error {
	program, err := r.here()
	if err != nil {
		return err
	}
	folder := filepath.Join(r.shared(), "completions")
	if err := os.MkdirAll(folder, 0o755); err != nil { // #nosec G301 -- what is released is public
		return err
	}
	for shell, file := range map[string]string{"bash": "zerodag.bash", "zsh": "_zerodag", "fish": "zerodag.fish"} {
		text, err := exec.Command(program, "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("completion of %s: %w", shell, err)
		}
		if err := write(filepath.Join(folder, file), text); err != nil {
			return err
		}
	}
	help, err := exec.Command(program, "--help").Output()
	if err != nil {
		return fmt.Errorf("help: %w", err)
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(manual(r.version, r.time.Format("2006-01-02"), string(help))); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return write(filepath.Join(r.shared(), "zerodag.1.gz"), packed.Bytes())
}

// manual is the page zerodag(1): the help of the program, as it stands, and where more is.
func manual(version, day, help string) []byte {
	escape := strings.NewReplacer(`\`, `\e`, "-", `\-`)
	var b strings.Builder
	fmt.Fprintf(&b, ".TH ZERODAG 1 %q \"zerodag %s\"\n.SH NAME\nzerodag \\- runs workflows of the Digdag language\n.SH DESCRIPTION\n.nf\n", day, escape.Replace(version))
	for line := range strings.Lines(help) {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") { // else it is a request to the formatter
			b.WriteString(`\&`)
		}
		b.WriteString(escape.Replace(line))
	}
	b.WriteString(".fi\n.SH FILES\n/etc/zerodag/server.properties, /var/lib/zerodag\n.SH SEE ALSO\n.BR systemctl (1),\nzerodag COMMAND \\-\\-help\n")
	return []byte(b.String())
}

// write writes a file that everyone may read.
func write(path string, content []byte) error {
	return os.WriteFile(path, content, 0o644) // #nosec G306 -- what is released is public
}
