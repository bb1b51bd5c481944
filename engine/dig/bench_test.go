package dig

import (
	"fmt"
	"strings"
	"testing"

	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
)

// BenchmarkCompile compiles bodies as loops do for each iteration; the figure that matters is ns/node.
func BenchmarkCompile(b *testing.B) {
	tasks := param.New()
	for i := range 1000 {
		tasks.Set(fmt.Sprintf("+task-%d", i), param.New("echo>", "hello", "x", int64(i)))
	}
	for _, bench := range []struct {
		name   string
		config *param.Map
	}{
		{"operator", mustMap(b, `{"echo>":"${i}"}`)},
		{"exporting", mustMap(b, `{"_export":{"i":1},"sh>":"echo ${i}"}`)},
		{"steps", mustMap(b, `{"_export":{"i":1},"+a":{"sh>":"x"},"+b":{"sh>":"y","_retry":2},"+c":{"_background":true,"echo>":"z"}}`)},
		{"wide", tasks},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			count := 0
			for b.Loop() {
				nodes, err := Compile("+main+loop", "^sub", keys.Language{}, bench.config)
				if err != nil {
					b.Fatal(err)
				}
				count += len(nodes)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(count), "ns/node")
		})
	}
}

// BenchmarkLoad reads workflow files of about 10 KB and 1 MB: the time per byte must be similar for both.
func BenchmarkLoad(b *testing.B) {
	for _, size := range []int{10 << 10, 1 << 20} {
		text := bigWorkflow(size)
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			read := mapSource(map[string]string{"main.dig": text})
			for b.Loop() {
				if _, err := Load(read, []string{"main.dig"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func bigWorkflow(size int) string {
	var text strings.Builder
	text.WriteString("timezone: UTC\n_export: &defaults {retries: 3, host: example.com}\n")
	for i := 0; text.Len() < size; i++ {
		fmt.Fprintf(&text, "+step-%d: # a comment\n  _export:\n    <<: *defaults\n    n: %d\n  sh>: echo \"step ${n}\"\n", i, i)
	}
	return text.String()
}
