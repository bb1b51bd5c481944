package script

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUses checks which uses of parameters are found in expressions, and that names that an expression sets itself are
// not.
func TestUses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"${!dry_run}": "! dry_run",
		"x ${!flag && other} ${!this.y && this.z} y": "&& other, ! flag",
		"${a && b || c}":                  "&& a, && b",
		"${n + 1} ${1 + m} ${n + 'x'}":    "+ n, + m",
		"${read > written} ${a <= 5}":     "< read written",
		"${paths.temp} ${this.paths.a.b}": ". paths temp, . paths a b",
		"${paths.temp || 'x'} ${typeof db.host} ${db.host == null} ${db?.port} ${db.x ? 1 : db.y}": ". paths temp tried, . db host tried, . db host tried, . db x tried, . db y tried",
		"${moment(session_time).format('x')} ${xs.map(x => !x).length} ${a.b.c('x')}":              ". a b",
		"${JSON.parse(http.last_content).a}":                                                       ". http last_content",
		"${xs.filter(function(x) { return x + 1 > 2 })} ${y = 3} ${y + 1}":                         ":= y",
		"${a +} ${!b}": "",
		"${table-name} ${a - b - c} ${n - 1} ${1 - n} ${a + b - c}":     "- table-name, - a-b-c, - a-b, - n",
		"${d == '2026'} ${'x' !== this.e} ${d < '2027'}":                "'' d 2026, '' e x, '' d 2027",
		"${(function() { var n = 0; n = n + 2; return n })()} ${z = 1}": ":= z",
		"${n === 10} ${10 === n} ${n == 10}":                            "= n",
		"${'a' in list} ${0 in list} ${this.x = 2}":                     "in list, := x",
		"${c in list} ${this.c in this.list}":                           "in list, in list",
		"plain $x":                                                      "",
	} {
		var got []string
		for _, u := range Uses(text) {
			line := fmt.Sprintf("%s %s", u.Kind, strings.Join(append([]string{u.Name}, append(u.Path, strings.Fields(u.Other)...)...), " "))
			if u.Tried {
				line += " tried"
			}
			got = append(got, line)
		}
		if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
}
