package files

import (
	"bufio"
	"compress/gzip"
	"io"

	"zerodag/internal/tasklog"
)

// searched is how much of a file is searched at once.
const searched = 128 << 10

// wholeSize returns the size of a log file up to the end of its last complete member. Bytes that a killed process left
// after that member would make readers fail.
func wholeSize(f io.ReaderAt, size int64) int64 {
	buffer := make([]byte, searched+tasklog.StartSize-1)
	for end := size; end > 0; end -= min(searched, end) {
		from := max(0, end-searched)
		n, err := f.ReadAt(buffer[:min(int64(len(buffer)), size-from)], from)
		if err != nil && err != io.EOF {
			return size // the reader will get the error
		}
		text := buffer[:n]
		for i := tasklog.LastStart(text); i >= 0; i = tasklog.LastStart(text) {
			if to, whole := memberEnd(io.NewSectionReader(f, from+int64(i), size-from-int64(i))); whole {
				return from + int64(i) + to
			}
			text = text[:i+tasklog.StartSize-1]
		}
	}
	return 0
}

// memberEnd reads a member and returns where it ends, and whether it is complete.
func memberEnd(in *io.SectionReader) (end int64, whole bool) {
	b := bufio.NewReader(in)
	z, err := gzip.NewReader(b)
	if err != nil {
		return 0, false
	}
	z.Multistream(false)
	if _, err := io.Copy(io.Discard, z); err != nil { // #nosec G110 -- the output is discarded
		return 0, false
	}
	at, err := in.Seek(0, io.SeekCurrent)
	return at - int64(b.Buffered()), err == nil
}
