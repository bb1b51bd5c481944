package term

import (
	"slices"
	"strings"
)

// Table is a list for users: one line for each object, its columns aligned. On a terminal, the status is colored, and
// the widest names are cut so that each row stays on one line.
type Table struct {
	columns []Column
	rows    [][]string
}

// Column is a column of a table.
type Column struct {
	Title string
	Wide  bool                         // shown only with --output wide
	Name  bool                         // its cells may be cut
	Spare bool                         // omitted if it is empty or if a name would otherwise be cut
	Ink   func(Palette, string) string // returns a cell's color; nil for none
}

// NewTable creates a table without rows.
func NewTable(columns ...Column) *Table { return &Table{columns: columns} }

// Add appends a row with a string for each column; white space and line ends in the strings become single spaces.
func (t *Table) Add(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.Join(strings.Fields(c), " ") // text from outside stays on its line
	}
	t.rows = append(t.rows, cells)
}

// Empty reports whether the table has no rows.
func (t *Table) Empty() bool { return len(t.rows) == 0 }

// gap separates two columns.
const gap = "  "

// narrowest is the shortest length to which a name may be cut.
const narrowest = 12

// Text draws the table in at most the given number of terminal columns; 0 means that nothing is cut. Columns that are
// Wide are shown if wide is.
func (t *Table) Text(wide bool, columns int, ink Palette) string {
	shown := t.shown(wide, columns)
	widths := t.cut(shown, columns)
	var b strings.Builder
	line := func(cell func(i int) (text, begin string)) {
		for n, i := range shown {
			text, begin := cell(i)
			text = Shorten(text, widths[i])
			pad := ""
			if n < len(shown)-1 {
				pad = strings.Repeat(" ", widths[i]-Width(text)) + gap
			}
			if begin != "" {
				text = begin + text + ink.Reset
			}
			b.WriteString(text + pad)
		}
		b.WriteByte('\n')
	}
	line(func(i int) (string, string) { return t.columns[i].Title, ink.Dim })
	for _, row := range t.rows {
		line(func(i int) (string, string) {
			if color := t.columns[i].Ink; color != nil {
				return row[i], color(ink, row[i])
			}
			return row[i], ""
		})
	}
	return b.String()
}

// shown returns the positions of the columns that are shown.
func (t *Table) shown(wide bool, most int) (shown []int) {
	for i, c := range t.columns {
		empty := !slices.ContainsFunc(t.rows, func(row []string) bool { return row[i] != "" })
		if (!c.Wide || wide) && !(c.Spare && empty) {
			shown = append(shown, i)
		}
	}
	for n := len(shown) - 1; most > 0 && n >= 0; n-- {
		if _, sum := t.widths(shown); sum > most && t.columns[shown[n]].Spare {
			shown = slices.Delete(shown, n, n+1)
		}
	}
	return shown
}

// widths returns the widths of the shown columns, by position, and of a whole line.
func (t *Table) widths(shown []int) (widths map[int]int, sum int) {
	widths = map[int]int{}
	for n, i := range shown {
		widths[i] = Width(t.columns[i].Title)
		for _, row := range t.rows {
			widths[i] = max(widths[i], Width(row[i]))
		}
		if sum += widths[i]; n > 0 {
			sum += len(gap)
		}
	}
	return widths, sum
}

// cut returns the widths after names have been cut until a line fits; with 0, none are cut.
func (t *Table) cut(shown []int, most int) map[int]int {
	widths, sum := t.widths(shown)
	for ; most > 0 && sum > most; sum-- {
		widest := -1
		for _, i := range shown {
			if t.columns[i].Name && widths[i] > narrowest && (widest < 0 || widths[i] > widths[widest]) {
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
