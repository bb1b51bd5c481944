package main

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// table is a list for people: one line for each thing, its columns aligned. On a terminal the status is
// coloured, and the widest names are cut so that a line stays a line.
type table struct {
	columns []column
	rows    [][]string
}

// column is one of a table; those that are wide are shown by --output wide only.
type column struct {
	title string
	wide  bool
	name  bool // it may be cut
	spare bool // it is left out where it is empty, and before a name is cut
	ink   func(palette, string) string
}

func newTable(columns ...column) *table { return &table{columns: columns} }

// add appends a row: a text for each column.
func (t *table) add(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.Join(strings.Fields(c), " ") // a line of what others have written stays a line
	}
	t.rows = append(t.rows, cells)
}

// gap is between two columns.
const gap = "  "

// narrowest is how short a name may be cut.
const narrowest = 12

// text draws the table in at most so many columns of a terminal; 0 is as wide as it is.
func (t *table) text(wide bool, columns int, ink palette) string {
	shown := t.shown(wide, columns)
	widths := t.cut(shown, columns)
	var b strings.Builder
	line := func(cell func(i int) (text, begin string)) {
		for n, i := range shown {
			text, begin := cell(i)
			text = shorten(text, widths[i])
			pad := ""
			if n < len(shown)-1 {
				pad = strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)) + gap
			}
			if begin != "" {
				text = begin + text + ink.reset
			}
			b.WriteString(text + pad)
		}
		b.WriteByte('\n')
	}
	line(func(i int) (string, string) { return t.columns[i].title, ink.dim })
	for _, row := range t.rows {
		line(func(i int) (string, string) {
			if colour := t.columns[i].ink; colour != nil {
				return row[i], colour(ink, row[i])
			}
			return row[i], ""
		})
	}
	return b.String()
}

// shown are the places of the columns that are shown.
func (t *table) shown(wide bool, most int) (shown []int) {
	for i, c := range t.columns {
		empty := !slices.ContainsFunc(t.rows, func(row []string) bool { return row[i] != "" })
		if (!c.wide || wide) && !(c.spare && empty) {
			shown = append(shown, i)
		}
	}
	for n := len(shown) - 1; most > 0 && n >= 0; n-- {
		if _, sum := t.widths(shown); sum > most && t.columns[shown[n]].spare {
			shown = slices.Delete(shown, n, n+1)
		}
	}
	return shown
}

// widths are those of the columns that are shown, by their places, and of a whole line.
func (t *table) widths(shown []int) (widths map[int]int, sum int) {
	widths = map[int]int{}
	for n, i := range shown {
		widths[i] = utf8.RuneCountInString(t.columns[i].title)
		for _, row := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		if sum += widths[i]; n > 0 {
			sum += len(gap)
		}
	}
	return widths, sum
}

// cut are the widths when names are cut until a line fits; 0 cuts none.
func (t *table) cut(shown []int, most int) map[int]int {
	widths, sum := t.widths(shown)
	for ; most > 0 && sum > most; sum-- {
		widest := -1
		for _, i := range shown {
			if t.columns[i].name && widths[i] > narrowest && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}

// shorten cuts a text in its middle, where names differ least.
func shorten(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most || most < 1 {
		return text
	}
	begin := (most - 1) / 2
	return string(runes[:begin]) + "…" + string(runes[len(runes)-(most-1-begin):])
}

// statusInk colours the status of an attempt, or the state of a task.
func statusInk(ink palette, status string) string {
	switch status {
	case "success":
		return ink.green
	case "error", "group_error":
		return ink.red
	case "running", "ready":
		return ink.cyan
	case "killed", "canceled", "retry_waiting", "group_retry_waiting", "pending", successIgnored:
		return ink.yellow
	}
	return ink.dim
}

// took is how long something lasted, or has lasted so far; "" when it has not begun.
func took(now time.Time, from, to *time.Time) string {
	if from == nil {
		return ""
	}
	if to != nil {
		now = *to
	}
	return wholeDuration(max(0, now.Sub(*from)))
}

// listForm is short enough for a list of attempts to fit in 80 columns.
const listForm = "2006-01-02 15:04:05Z07:00"

// shortTime is a time of this machine's zone as lists show it, with its offset.
func shortTime(t *time.Time) string { return shortTimeIn(time.Local, t) }

// shortTimeIn formats a time for a list, in the zone of another time in the same row.
func shortTimeIn(zone *time.Location, t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.In(zone).Format(listForm)
}

// ago is how far away a time is; of hours no seconds are told.
func ago(now time.Time, t *time.Time) string {
	if t == nil {
		return ""
	}
	away := t.Sub(now).Abs()
	text := wholeDuration(away)
	if away >= time.Hour {
		text = strings.TrimSuffix(wholeDuration(away.Truncate(time.Minute)), " 0s")
	}
	if t.After(now) {
		return "in " + text
	}
	return text + " ago"
}

// wholeDuration writes a duration between times that a server tells, which are whole seconds.
func wholeDuration(d time.Duration) string {
	if d < time.Second {
		return "<1s"
	}
	return showDuration(d)
}
