package attemptview

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/tasklog"
)

// logRead records how much of a log file has been shown.
type logRead struct {
	size     int64     // the size of the file when it was read
	lines    int       // the number of lines that were shown or filtered out
	part     int       // the number of bytes shown of the next line, whose end was still missing
	begun    bool      // one of the engine's lines was shown or filtered out
	last     time.Time // the time of the last line that has one
	torn     bool      // the last line had no end
	failed   bool      // a line gave the reason why the task failed
	filtered bool      // the last line with a level was not shown
}

// levelPattern finds the level in a line like "2016-04-06 17:07:16 -0700 [INFO] ...".
var levelPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9: \-+.]*\[([A-Za-z]+)\]`) })

// inOrder sorts files by the time at which their runs began, which their names contain to the nanosecond. Digdag shows
// the files of each task together, with tasks in order of their first file's time.
func inOrder(handles []client.LogFile) []client.LogFile {
	first := map[string]time.Time{}
	for _, h := range handles {
		if t, there := first[h.TaskName]; !there || h.FileTime.Before(t) {
			first[h.TaskName] = h.FileTime
		}
	}
	list := slices.Clone(handles)
	slices.SortStableFunc(list, func(a, b client.LogFile) int {
		if program.AsDigdag() {
			return cmp.Or(first[a.TaskName].Compare(first[b.TaskName]), strings.Compare(a.TaskName, b.TaskName))
		}
		return beganAt(a).Compare(beganAt(b))
	})
	return list
}

// beganAt returns the start time of the run that a log file belongs to.
func beganAt(h client.LogFile) time.Time {
	if f, ok := tasklog.ParseName(h.FileName); ok {
		return f.Time
	}
	return h.FileTime
}

// showFile shows the new lines of a file. A file that is being written may end anywhere; if whole is true, an
// incomplete last line is shown.
func (c *LogReader) showFile(ctx context.Context, id client.ID, h client.LogFile, whole bool) (news bool, err error) {
	file, err := c.Log(ctx, id, h)
	if err != nil {
		return false, err
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if isEnd(err) {
		c.files[h.FileName].torn = true
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read log %s: %w", h.FileName, err)
	}
	at, lines := c.files[h.FileName], bufio.NewReader(z)
	for n := 0; ; n++ {
		line, err := lines.ReadString('\n')
		if err != nil && !isEnd(err) {
			return news, fmt.Errorf("read log %s: %w", h.FileName, err)
		}
		open := err != nil
		if at.torn = open && line != "" && !whole; line == "" || at.torn {
			return news, nil
		}
		if n < at.lines {
			continue
		}
		rest, goesOn := strings.TrimRight(line[min(at.part, len(line)):], "\r\n"), at.part > 0
		at.pass(n, line, open)
		if goesOn && rest == "" {
			continue
		}
		news = true
		if err := c.showLine(h, at, rest); err != nil {
			return news, err
		}
	}
}

// isEnd reports whether an error means that a file ended, even if it was cut off.
func isEnd(err error) bool {
	return err == io.EOF || err == io.ErrUnexpectedEOF //nolint:errorlint // a reader returns these bare
}

// pass records that line n, counted from 0, was shown; open means that more of it may follow.
func (at *logRead) pass(n int, line string, open bool) {
	if at.lines, at.part = n+1, 0; open {
		at.lines, at.part = n, len(line)
	}
}

// viewLine shows a line to users; while a log is followed, it shows the line together with the others from the same
// poll.
func (c *LogReader) viewLine(h client.LogFile, at *logRead, l tasklog.Text) error {
	if !c.Follow {
		return c.view.show(h, at, l)
	}
	switch {
	case !l.At.IsZero():
		at.last = l.At
	case at.last.IsZero():
		at.last = beganAt(h)
	}
	if c.held = append(c.held, heldLine{at.last, h, l}); len(c.held) >= mostHeld {
		return c.showHeld()
	}
	return nil
}

// showLine shows a line of level info or above. A line without a level belongs to the previous one.
func (c *LogReader) showLine(h client.LogFile, at *logRead, line string) error {
	if c.view != nil {
		return c.viewLine(h, at, tasklog.Read(line))
	}
	if m := levelPattern().FindStringSubmatch(line); m != nil {
		switch strings.ToUpper(m[1]) {
		case "DEBUG", "TRACE":
			at.filtered = !c.Verbose
		case "INFO", "WARN", "ERROR":
			at.filtered = false
		}
	}
	if at.filtered {
		return nil
	}
	_, err := fmt.Fprintln(c.Out, line)
	return err
}
