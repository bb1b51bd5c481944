package main

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

	"github.com/spf13/cobra"

	"zerodag/internal/client"
	"zerodag/internal/tasklog"
)

type logCommand struct {
	remote
	verbose, follow, urls bool
	files                 map[string]*logRead // by name
	view                  *logView            // nil shows lines as they are, as the original does
	held                  []heldLine
}

// mostHeld is how many lines are put in order at once.
const mostHeld = 50_000

// heldLine is a line that was found in a round of following, and is shown with the others of that round
// in the order of their times.
type heldLine struct {
	at   time.Time
	file client.LogFile
	line tasklog.Text
}

// logRead is how far a log file was shown.
type logRead struct {
	size     int64     // of the file when it was read
	lines    int       // that were shown or filtered
	part     int       // bytes of the next one that were shown, since its end did not come
	begun    bool      // a line of the engine was shown or filtered
	last     time.Time // of the last line that has one
	torn     bool      // the last line had no end
	failed   bool      // a line has said why the task failed
	filtered bool      // the last line with a level was not shown
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
		if c.urls || !c.forPeople() {
			return c.listFiles(ctx, id, prefix)
		}
		if !c.ours() {
			return c.read(ctx, id, prefix)
		}
		return c.showLog(ctx, id, prefix)
	})
}

// showLog shows the log to people. Who follows it to the end of the attempt is told how it ended.
func (c *logCommand) showLog(ctx context.Context, id client.ID, prefix string) error {
	_, ink := look(c.out)
	c.view = &logView{taskLines: taskLines{out: c.out, ink: ink}, verbose: c.verbose, runs: map[string]int{}}
	if err := c.read(ctx, id, prefix); err != nil {
		return err
	}
	if prefix != "" && len(c.files) == 0 {
		return c.knowTask(ctx, id, prefix)
	}
	switch {
	case prefix != "":
		return nil
	case !c.follow:
		return c.tellFailed(ctx, id, nil)
	}
	a, err := c.Attempt(ctx, id)
	if err != nil {
		return err
	}
	tasks, err := c.Tasks(ctx, id)
	if err != nil {
		return err
	}
	c.warnings(incompleteLogs(tasks))
	if a.Success {
		return c.tellEnd(a, nil)
	}
	failed, err := c.failuresAmong(ctx, a, tasks, 0)
	if err != nil {
		return err
	}
	return c.tellEnd(a, failed)
}

// knowTask refuses a beginning of names that no task of an attempt has.
func (c *logCommand) knowTask(ctx context.Context, id client.ID, prefix string) error {
	tasks, err := c.Tasks(ctx, id)
	if err != nil {
		return err
	}
	var names []string
	for _, t := range tasks {
		if strings.HasPrefix(t.FullName, prefix) {
			return nil
		}
		names = append(names, t.FullName)
	}
	near := ""
	if full := likely(prefix, names); full != "" {
		near = "did you mean " + full + "? "
	}
	return fmt.Errorf("attempt %s has no task whose name begins with %s\nhint: %s%s", id, prefix, near, asCalled("`zerodag tasks "+string(id)+"` lists them"))
}

// waitFlags let a command that starts an attempt wait for its end.
type waitFlags struct{ wait, follow bool }

func (f *waitFlags) register(c *cobra.Command) {
	c.Flags().BoolVar(&f.wait, "wait", false, "wait for the end of the attempt: exit code 0 only if it is a success")
	c.Flags().BoolVar(&f.follow, "follow", false, "like --wait, and show the log meanwhile")
}

// check refuses what would mix a log with a result for programs.
func (f *waitFlags) check(r *remote) error {
	if f.follow && !r.forPeople() {
		return usageError{fmt.Errorf("--follow shows the log among the result: with --output %s use --wait", r.format)}
	}
	return nil
}

// until waits for the end of an attempt, if that was asked for.
func (f *waitFlags) until(ctx context.Context, r *remote, a client.Attempt) error {
	defer func() {
		if ctx.Err() != nil {
			r.hint("The attempt goes on: `zerodag log %s --follow` shows its log again.", a.ID)
		}
	}()
	switch {
	case f.follow:
		c := &logCommand{remote: *r, follow: true, files: map[string]*logRead{}}
		return c.showLog(ctx, a.ID, "")
	case f.wait:
		a, err := r.await(ctx, a.ID)
		if err != nil {
			return err
		}
		return r.tellOutcome(ctx, a, lastLines)
	}
	return nil
}

// levelPattern finds the level in a line like "2016-04-06 17:07:16 -0700 [INFO] ...".
var levelPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9: \-+.]*\[([A-Za-z]+)\]`) })

// listFiles shows which files there are.
func (c *logCommand) listFiles(ctx context.Context, id client.ID, prefix string) error {
	list := c.LogFiles
	if c.urls {
		list = c.LogLinks
	}
	handles, err := list(ctx, id, prefix)
	if err != nil {
		return err
	}
	type listed struct {
		client.LogFile
		URL string `json:"url"`
	}
	files, closed := make([]listed, len(handles)), 0
	for i, h := range handles {
		files[i] = listed{h, c.LogURL(id, h)}
		if h.Direct == "" {
			closed++
		}
	}
	if err := c.show(files, func(p printer) {
		for _, l := range files {
			p.line("%s", l.URL)
		}
	}); err != nil {
		return err
	}
	if c.urls && c.ours() && closed > 0 {
		c.hint("hint: the API serves %d of %d logs, and its addresses need a login: `zerodag log %s` shows them", closed, len(files), id)
	}
	return nil
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

// update shows what is new, run by run in the order in which they began; it says
// whether there was anything. A line without its end waits for the rest, unless it is the
// last one; people see it when nothing has followed until the next round.
func (c *logCommand) update(ctx context.Context, id client.ID, prefix string, last bool) (news bool, err error) {
	handles, err := c.LogFiles(ctx, id, prefix)
	if err != nil {
		return false, err
	}
	if c.view != nil {
		c.view.fit(handles)
	}
	for _, h := range inOrder(handles) {
		at := c.files[h.FileName]
		if at == nil {
			at = &logRead{size: -1}
			c.files[h.FileName] = at
		}
		settled := at.size == h.FileSize
		if settled && (!at.torn || !last && c.view == nil) {
			continue
		}
		more, err := c.showFile(ctx, id, h, last || settled)
		if err != nil {
			return false, err
		}
		at.size = h.FileSize
		news = news || more
	}
	return news, c.showHeld()
}

// showHeld shows what a round of following has found, in the order of its times.
func (c *logCommand) showHeld() error {
	slices.SortStableFunc(c.held, func(a, b heldLine) int { return a.at.Compare(b.at) })
	for _, l := range c.held {
		if err := c.view.show(l.file, c.files[l.file.FileName], l.line); err != nil {
			return err
		}
	}
	c.held = c.held[:0]
	return nil
}

// inOrder sorts files by the time at which their runs began, which their names have to the nanosecond. Digdag shows the files of each task
// together, tasks in the order of their first file's time.
func inOrder(handles []client.LogFile) []client.LogFile {
	first := map[string]time.Time{}
	for _, h := range handles {
		if t, there := first[h.TaskName]; !there || h.FileTime.Before(t) {
			first[h.TaskName] = h.FileTime
		}
	}
	list := slices.Clone(handles)
	slices.SortStableFunc(list, func(a, b client.LogFile) int {
		if asDigdag() {
			return cmp.Or(first[a.TaskName].Compare(first[b.TaskName]), strings.Compare(a.TaskName, b.TaskName))
		}
		return beganAt(a).Compare(beganAt(b))
	})
	return list
}

// beganAt is when the run of a log file began.
func beganAt(h client.LogFile) time.Time {
	if f, ok := tasklog.ParseName(h.FileName); ok {
		return f.Time
	}
	return h.FileTime
}

// showFile shows the lines of a file that were not shown yet. A file that is being
// written ends anywhere; whole says that a line without its end is shown, too.
func (c *logCommand) showFile(ctx context.Context, id client.ID, h client.LogFile, whole bool) (news bool, err error) {
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
		open := err != nil
		if at.torn = open && line != "" && !whole; line == "" || at.torn {
			return news, nil
		}
		if n < at.lines {
			continue
		}
		rest, goesOn := strings.TrimRight(line[min(at.part, len(line)):], "\r\n"), at.part > 0
		if at.lines, at.part = n+1, 0; open {
			at.lines, at.part = n, len(line)
		}
		if goesOn && rest == "" {
			continue
		}
		news = true
		if err := c.showLine(h, at, rest); err != nil {
			return news, err
		}
	}
}

// viewLine shows a line to people; where a log is followed, with the others of its round.
func (c *logCommand) viewLine(h client.LogFile, at *logRead, l tasklog.Text) error {
	if !c.follow {
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

// showLine shows a line of level info and above. A line without a level goes with the one
// before it.
func (c *logCommand) showLine(h client.LogFile, at *logRead, line string) error {
	if c.view != nil {
		return c.viewLine(h, at, tasklog.Read(line))
	}
	if m := levelPattern().FindStringSubmatch(line); m != nil {
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
