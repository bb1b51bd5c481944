package docs

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"testing"
	"time"
)

// TestFilm proves that the film in README and on the console's page exists, is small enough to be loaded with a page,
// and moves: it has many pictures, which are not all the same, and lasts about half a minute.
func TestFilm(t *testing.T) {
	t.Parallel()
	film, err := os.ReadFile("pictures/console-film.webp")
	if err != nil {
		t.Fatal(err)
	}
	if len(film) > 1_500_000 {
		t.Errorf("the film is %d bytes: `make console-pictures` makes it smaller", len(film))
	}
	var pictures [][]byte
	var takes time.Duration
	for name, content := range chunks(t, film) {
		if name == "ANMF" { // left, top, width, height, duration in milliseconds: three bytes each, then the picture
			takes += time.Duration(binary.LittleEndian.Uint32(append(slices.Clone(content[12:15]), 0))) * time.Millisecond
			pictures = append(pictures, content[16:])
		}
	}
	slices.SortFunc(pictures, bytes.Compare)
	different := len(slices.CompactFunc(pictures, bytes.Equal))
	if different < 20 || takes < 25*time.Second || takes > 40*time.Second {
		t.Errorf("%d different pictures in %s", different, takes)
	}
	for _, page := range []string{"../README.md", "console.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte("pictures/console-film.webp")) {
			t.Errorf("%s does not show the film", page)
		}
	}
}

// chunks iterates over the parts of a WebP file, each of which has a name of four letters.
func chunks(t *testing.T, file []byte) func(yield func(string, []byte) bool) {
	t.Helper()
	if len(file) < 12 || string(file[:4]) != "RIFF" || string(file[8:12]) != "WEBP" {
		t.Fatal("this is no WebP")
	}
	return func(yield func(string, []byte) bool) {
		for rest := file[12:]; len(rest) >= 8; {
			size := int(binary.LittleEndian.Uint32(rest[4:8]))
			if size > len(rest)-8 || !yield(string(rest[:4]), rest[8:8+size]) {
				return
			}
			rest = rest[min(len(rest), 8+size+size%2):]
		}
	}
}
