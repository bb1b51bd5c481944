package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/internal/client"
)

type logCommand struct {
	remote
	verbose, follow, urls bool
	files                 map[string]*logRead // by name
	level                 *regexp.Regexp
}

// logRead is how far a log file was shown.
type logRead struct {
	size     int64 // of the file when it was read
	lines    int   // that were shown or filtered
	torn     bool  // the last line had no end
	filtered bool  // the last line with a level was not shown
}

// newLog shows the logs of an attempt.
func newLog(s streams) *cobra.Command {
	c := &logCommand{remote: remote{streams: s}, files: map[string]*logRead{}}
	cmd := &cobra.Command{Use: "log attempt-id [+task name prefix]", Aliases: []string{"logs"}, Short: "Show the logs of an attempt or of its tasks"}
	cmd.Flags().BoolVarP(&c.verbose, "verbose", "v", false, "show debug messages, too")
	cmd.Flags().BoolVarP(&c.follow, "follow", "f", false, "show new lines until the attempt or the task is over")
	cmd.Flags().BoolVar(&c.urls, "url", false, "show the URLs of the log files instead of their content")
	return c.command(cmd, 1, 2, func(ctx context.Context, args []string) error {
		id, err := c.openAttempt(ctx, args[0])
		if err != nil {
			return err
		}
		prefix := ""
		if len(args) == 2 {
			prefix = args[1]
		}
		c.level = levelPattern()
		if c.urls || c.format != "text" {
			return c.list(ctx, id, prefix)
		}
		return c.read(ctx, id, prefix)
	})
}

// levelPattern finds the level in a line like "2016-04-06 17:07:16 -0700 [INFO] ...".
func levelPattern() *regexp.Regexp { return regexp.MustCompile(`^[0-9: \-+.]*\[([A-Za-z]+)\]`) }

// list shows which files there are.
func (c *logCommand) list(ctx context.Context, id client.ID, prefix string) error {
	handles, err := c.LogFiles(ctx, id, prefix)
	if err != nil {
		return err
	}
	type listed struct {
		client.LogFile
		URL string `json:"url"`
	}
	list := make([]listed, len(handles))
	for i, h := range handles {
		list[i] = listed{h, c.LogURL(id, h)}
	}
	return c.show(list, func(p printer) {
		for _, l := range list {
			p.line("%s", l.URL)
		}
	})
}

// How often a log is looked at while nothing and something is new.
const (
	followFirst = 500 * time.Millisecond
	followLast  = 10 * time.Second
)

func (c *logCommand) read(ctx context.Context, id client.ID, prefix string) error {
	for pause := followFirst; ; pause = min(2*pause, followLast) {
		over := true
		if c.follow {
			var err error // asked before reading: what is written until then is read
			if over, err = c.isOver(ctx, id, prefix); err != nil {
				return err
			}
		}
		news, err := c.update(ctx, id, prefix, over)
		if err != nil || over {
			return err
		}
		if news {
			pause = followFirst
		}
		if err := c.Wait(ctx, pause); err != nil {
			return err
		}
	}
}

// isOver says whether no further line can come.
func (c *logCommand) isOver(ctx context.Context, id client.ID, prefix string) (bool, error) {
	a, err := c.Attempt(ctx, id)
	if err != nil || a.Done || prefix == "" {
		return a.Done, err
	}
	tasks, err := c.Tasks(ctx, id)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(tasks, func(t client.Task) bool {
		return strings.HasPrefix(t.FullName, prefix) &&
			slices.Contains([]string{"blocked", "ready", "retry_waiting", "group_retry_waiting", "running"}, t.State)
	}), nil
}

// update shows what is new, task by task in the order of their first lines; it says
// whether there was anything. A line without its end waits for the rest, unless it is the
// last one.
func (c *logCommand) update(ctx context.Context, id client.ID, prefix string, last bool) (news bool, err error) {
	handles, err := c.LogFiles(ctx, id, prefix)
	if err != nil {
		return false, err
	}
	for _, h := range byTask(handles) {
		at := c.files[h.FileName]
		if at == nil {
			at = &logRead{size: -1}
			c.files[h.FileName] = at
		}
		if at.size == h.FileSize && !(last && at.torn) {
			continue
		}
		more, err := c.showFile(ctx, id, h, last)
		if err != nil {
			return false, err
		}
		at.size = h.FileSize
		news = news || more
	}
	return news, nil
}

// byTask puts the files of each task together, tasks in the order of their first file's
// time.
func byTask(handles []client.LogFile) []client.LogFile {
	var groups [][]client.LogFile
	for _, h := range handles {
		i := slices.IndexFunc(groups, func(g []client.LogFile) bool { return g[0].TaskName == h.TaskName })
		if i < 0 {
			groups = append(groups, nil)
			i = len(groups) - 1
		}
		groups[i] = append(groups[i], h)
	}
	earliest := func(g []client.LogFile) time.Time {
		return slices.MinFunc(g, func(a, b client.LogFile) int { return a.FileTime.Compare(b.FileTime) }).FileTime
	}
	slices.SortStableFunc(groups, func(a, b []client.LogFile) int { return earliest(a).Compare(earliest(b)) })
	return slices.Concat(groups...)
}

// showFile shows the lines of a file that were not shown yet. A file that is being
// written ends anywhere.
func (c *logCommand) showFile(ctx context.Context, id client.ID, h client.LogFile, last bool) (news bool, err error) {
	file, err := c.Log(ctx, id, h)
	if err != nil {
		return false, err
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err == io.EOF || err == io.ErrUnexpectedEOF { //nolint:errorlint // a reader returns these bare
		c.files[h.FileName].torn = true
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read log %s: %w", h.FileName, err)
	}
	at, lines := c.files[h.FileName], bufio.NewReader(z)
	for n := 0; ; n++ {
		line, err := lines.ReadString('\n')
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF { //nolint:errorlint // a reader returns these bare
			return news, fmt.Errorf("read log %s: %w", h.FileName, err)
		}
		if at.torn = err != nil && line != ""; line == "" || at.torn && !last {
			return news, nil
		}
		if n >= at.lines {
			at.lines, news = n+1, true
			if err := c.showLine(at, strings.TrimRight(line, "\r\n")); err != nil {
				return news, err
			}
		}
	}
}

// showLine shows a line of level info and above. A line without a level goes with the one
// before it.
func (c *logCommand) showLine(at *logRead, line string) error {
	if m := c.level.FindStringSubmatch(line); m != nil {
		switch strings.ToUpper(m[1]) {
		case "DEBUG", "TRACE":
			at.filtered = !c.verbose
		case "INFO", "WARN", "ERROR":
			at.filtered = false
		}
	}
	if at.filtered {
		return nil
	}
	_, err := fmt.Fprintln(c.out, line)
	return err
}
