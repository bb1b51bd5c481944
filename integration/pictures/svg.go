package pictures

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// The sizes of a character and of the picture's frame, in pixels.
const (
	charWidth, lineHeight = 8.4, 18
	margin, titleBar      = 16, 34
)

// classOf returns the class of a cell's style: a letter for the color, and d for dim.
func classOf(cell *uv.Cell) string {
	class := ""
	switch cell.Style.Fg {
	case ansi.Red:
		class = "r"
	case ansi.Green:
		class = "g"
	case ansi.Yellow:
		class = "y"
	case ansi.Cyan:
		class = "c"
	}
	if cell.Style.Attrs&uv.AttrFaint != 0 {
		class += "d"
	}
	return class
}

// looks defines the colors of a terminal on light and dark pages. Readers who prefer reduced motion see the last
// screen.
const looks = `.w{fill:#fff;stroke:#d0d7de}.b{fill:#d0d7de}text{fill:#1f2328;font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}
.r{fill:#cf222e}.g{fill:#1a7f37}.y{fill:#9a6700}.c{fill:#0969da}.d{opacity:.65}
@media(prefers-color-scheme:dark){.w{fill:#0d1117;stroke:#30363d}.b{fill:#30363d}text{fill:#e6edf3}.r{fill:#ff7b72}.g{fill:#3fb950}.y{fill:#d29922}.c{fill:#79c0ff}}
`

// SVG draws a cast as an animated picture without a script. what describes it to users who cannot see it.
func (c *Cast) SVG(what string) string {
	frames := c.frames()
	width, height := charWidth*float64(c.Size.Columns)+2*margin, float64(c.Size.Lines*lineHeight+titleBar+margin)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img"><title>%s</title><style>%s%s</style>`+"\n",
		width, height, width, height, escaped(what), looks, moves(frames, width))
	fmt.Fprintf(&b, `<rect class="w" x=".5" y=".5" width="%.0f" height="%.0f" rx="8"/>`, width-1, height-1)
	for i := range 3 {
		fmt.Fprintf(&b, `<circle class="b" cx="%d" cy="17" r="6"/>`, 20+20*i)
	}
	lines := map[string]string{} // their names, by their text
	var defs, strip strings.Builder
	for i, f := range frames {
		fmt.Fprintf(&strip, `<g transform="translate(%.0f)">`, float64(i)*width)
		for y, spans := range f.lines {
			if len(spans) == 0 {
				continue
			}
			drawn := drawLine(spans)
			name, known := lines[drawn]
			if !known {
				name = fmt.Sprintf("l%d", len(lines))
				lines[drawn] = name
				fmt.Fprintf(&defs, `<g id="%s">%s</g>`+"\n", name, drawn)
			}
			fmt.Fprintf(&strip, `<use href="#%s" y="%d"/>`, name, titleBar+(y+1)*lineHeight-5)
		}
		strip.WriteString("</g>\n")
	}
	fmt.Fprintf(&b, "<defs>%s</defs><svg width=\"%.0f\" height=\"%.0f\"><g class=\"s\">\n%s</g></svg></svg>\n", defs.String(), width, height, strip.String())
	return b.String()
}

// drawLine draws one line; each string is as wide as in a terminal, whatever the font.
func drawLine(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		class := ""
		if s.class != "" {
			class = fmt.Sprintf(` class="%s"`, strings.Join(strings.Split(s.class, ""), " "))
		}
		fmt.Fprintf(&b, `<text%s x="%.1f" textLength="%.1f">%s</text>`, class, margin+charWidth*float64(s.from), charWidth*float64(s.columns), escaped(s.text))
	}
	return b.String()
}

// moves shows one frame after the other, each as long as it was visible.
func moves(frames []frame, width float64) string {
	var all, at time.Duration
	for _, f := range frames {
		all += f.time
	}
	var b strings.Builder
	last := float64(len(frames)-1) * width
	fmt.Fprintf(&b, ".s{animation:s %.2fs steps(1,end) infinite}@media(prefers-reduced-motion:reduce){.s{animation:none;transform:translate(-%.0fpx)}}\n@keyframes s{", all.Seconds(), last)
	for i, f := range frames {
		fmt.Fprintf(&b, "%.2f%%{transform:translate(-%.0fpx)}", 100*at.Seconds()/all.Seconds(), float64(i)*width)
		at += f.time
	}
	fmt.Fprintf(&b, "100%%{transform:translate(-%.0fpx)}}", last)
	return b.String()
}

func escaped(text string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(text)) // to memory
	return b.String()
}
