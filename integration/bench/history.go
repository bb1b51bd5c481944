package main

import (
	"bytes"
	"cmp"
	"database/sql"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver of the server's database

	"zerodag/internal/embedded"
)

// How many past attempts there are, and how many are started in one measurement.
const (
	shortHistory, longHistory = 1_000, 1_000_000
	startedAtOnce             = 1_000
)

// past holds what a server has run before.
type past struct{ attempts, sessions int }

// history compares the rate of starts of a server with few past attempts with the rate of a server with very many, and
// prints the disk space of each.
func (b *bench) history() error {
	folder, p := filepath.Join(b.dir, "history"), &past{}
	if _, err := b.starts(folder, p, shortHistory, 1); err != nil {
		return err
	}
	few, err := b.starts(folder, p, startedAtOnce, 5)
	if err != nil {
		return err
	}
	b.row(fmt.Sprintf("1,000 attempts of one echo> after %d", shortHistory), few, [2]string{}, "")
	times := longHistory / p.attempts
	if err := multiply(embedded.DatabaseIn(folder).Path, p.attempts, times); err != nil {
		return err
	}
	p.attempts, p.sessions = p.attempts*times, p.sessions*times
	bytes, most, err := sizes(folder)
	if err != nil {
		return err
	}
	each := bytes / int64(p.attempts)
	many, err := b.starts(folder, p, startedAtOnce, 5)
	if err != nil {
		return err
	}
	b.row(fmt.Sprintf("1,000 attempts of one echo> after %d", longHistory), many, [2]string{}, "")
	fmt.Printf("%-46s %9.0f %%  %42s  85 %%\n", "  rate of starts after many against after few", 100*float64(few.took)/float64(many.took), "")
	fmt.Printf("%-46s %9d B  %42s  under 2950 B\n", "  on disk for each attempt of one echo>", each, "")
	fmt.Printf("%-46s %9d    %42s  some thousands\n", "  entries of the fullest folder", most, "")
	return nil
}

// rest waits until a server has nothing to do: after its start, it reads a large database once to find damage, which
// occupies a processor.
func (s *running) rest() error {
	began := time.Now()
	for used := int64(-1); ; time.Sleep(time.Second) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
		if err != nil {
			return err
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		user, _ := strconv.ParseInt(fields[11], 10, 64) // always a number, in hundredths of a second
		system, _ := strconv.ParseInt(fields[12], 10, 64)
		if now := user + system; used >= 0 && now-used < 5 {
			break
		} else {
			used = now
		}
	}
	if took := time.Since(began); took > 3*time.Second {
		fmt.Printf("%-46s %9.1f s\n", "  after its start the server works for", took.Seconds())
	}
	return nil
}

// starts runs n attempts several times on a separate server, and returns the median.
func (b *bench) starts(folder string, p *past, n, times int) (figure, error) {
	s, _, err := b.serve(folder)
	if err != nil {
		return figure{}, err
	}
	defer s.stop()
	s.session = p.sessions
	if err := s.push("bench", map[string]string{"one": repeated(1, "echo>: hi", false)}); err != nil {
		return figure{}, err
	}
	if err := s.rest(); err != nil {
		return figure{}, err
	}
	took, err := median(times, func() error { return s.many(n, 20, "one") })
	p.sessions = s.session
	p.attempts += n * times
	return figure{took, s.memory()}, err
}

// multiply copies the data of attempts 1 to n in the database until there are times as many. The server must not be
// running.
func multiply(path string, n, times int) (err error) {
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: path}).String())
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	defer func() { err = cmp.Or(err, db.Close()) }()
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	// The values that differ in a copy: k counts the copies, each of which has n attempts.
	for _, table := range []struct {
		name      string
		different map[string]string
	}{
		{"sessions", map[string]string{"id": "id + k*n", "last_attempt_id": "last_attempt_id + k*n", "session_time": "session_time + k*n*1000000", "session_uuid": "lower(hex(randomblob(16)))"}},
		{"session_attempts", map[string]string{"id": "id + k*n", "session_id": "session_id + k*n"}},
		{"attempt_archives", map[string]string{"attempt_id": "attempt_id + k*n"}},
		{"attempt_entries", map[string]string{"id": "id + ((k*n) << 24)"}},
		{"attempt_snapshots", map[string]string{"id": "id + ((k*n) << 24)"}},
		{"task_logs", map[string]string{"attempt_id": "attempt_id + k*n"}},
	} {
		names, err := columns(tx, table.name)
		if err != nil {
			return err
		}
		values := make([]string, len(names))
		for i, name := range names {
			values[i] = cmp.Or(table.different[name], name)
		}
		_, err = tx.Exec(fmt.Sprintf("WITH RECURSIVE copies (k, n) AS (SELECT 1, %d UNION ALL SELECT k + 1, n FROM copies WHERE k + 1 < %d)"+
			" INSERT INTO %s (%s) SELECT %s FROM copies, %s ORDER BY k", n, times, table.name, strings.Join(names, ", "), strings.Join(values, ", "), table.name))
		if err != nil {
			return fmt.Errorf("copy rows of %s: %w", table.name, err)
		}
	}
	return tx.Commit()
}

func columns(tx *sql.Tx, table string) ([]string, error) {
	rows, err := tx.Query("SELECT name FROM pragma_table_info(?)", table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// sizes returns the bytes of all files below a folder, in whole blocks, and the number of entries in the fullest
// folder.
func sizes(folder string) (bytes int64, most int, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			entries, err := os.ReadDir(path)
			most = max(most, len(entries))
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += (info.Size() + 4095) / 4096 * 4096
		}
		return err
	})
	return bytes, most, err
}
