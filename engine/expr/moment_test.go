package expr_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/expr"
	"zerodag/engine/param"
)

// TestMoment compares times with Digdag's results (language.md 1.7; recorded cases b03, b16).
func TestMoment(t *testing.T) {
	t.Parallel()
	dst := "2016-03-13T10:00:00Z"
	for _, c := range []struct{ zone, session, in, want string }{
		{"UTC", dst, "${moment(session_time).format()}", "2016-03-13T10:00:00+00:00"},
		{"Asia/Tokyo", dst, "${moment(session_time).format()}", "2016-03-13T19:00:00+09:00"},
		{"America/Los_Angeles", dst, "${moment(session_time).format()}", "2016-03-13T03:00:00-07:00"},
		{"America/Los_Angeles", dst, "${moment(session_time).add(-1,'hours').format()}", "2016-03-13T01:00:00-08:00"},
		{"America/Los_Angeles", dst, "${moment(session_time).add(-1,'days').format()}", "2016-03-12T03:00:00-08:00"},
		{"America/Los_Angeles", dst, "${moment(session_time).utc().format()}", "2016-03-13T10:00:00Z"},
		{"UTC", dst, `${moment(session_time).format("YYYY-MM-DD HH:mm:ss Z")}`, "2016-03-13 10:00:00 +00:00"},
		{"UTC", dst, `${moment(session_time).format("LLL")}`, "March 13, 2016 10:00 AM"},
		{"America/New_York", "2024-03-10T03:30:00-04:00", "${moment(session_time).add(1,'days').format()}", "2024-03-11T03:30:00-04:00"},
		{"Asia/Tokyo", "2024-02-29T12:34:56Z", "${moment(session_time).startOf('month').format()} ${moment(session_time).endOf('month').format('X')} ${moment(session_time).unix()}",
			"2024-02-01T00:00:00+09:00 1709218799 1709210096"},
		{"Asia/Tokyo", "2024-02-29", "${moment('2024-02-30').isValid()} ${moment(session_time).diff(moment('2024-01-01'), 'days')} ${moment(session_time).isoWeek()} ${moment(session_time).format('dddd MMMM Do')}",
			"false 59 9 Thursday February 29th"},
		{"Asia/Tokyo", "", "${moment().format()} ${moment}", "2024-02-29T21:34:56+09:00 undefined"},
		{"Asia/Tokyo", "", "${moment()}", `"2024-02-29T12:34:56.789Z"`},
	} {
		t.Run(c.zone+" "+c.in, func(t *testing.T) {
			t.Parallel()
			got, err := withMoment(t).Template(c.in, param.New("session_time", c.session), scopeIn(t, c.zone))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestZonesSideBySide alternates between two zones and times in one process.
func TestZonesSideBySide(t *testing.T) {
	t.Parallel()
	shared, other := withMoment(t), withMoment(t)
	texts := []string{"${moment(t).format()}", "${new Date(t).getHours()} ${moment(t).format('Z')}"}
	for range 3 {
		for _, e := range []struct {
			zone string
			want []string
		}{
			{"Asia/Tokyo", []string{"2024-01-01T09:00:00+09:00", "9 +09:00"}},
			{"America/New_York", []string{"2023-12-31T19:00:00-05:00", "19 -05:00"}},
		} {
			for i, text := range texts {
				for _, ev := range []interface {
					Template(string, *param.Map, expr.Scope) (string, error)
				}{shared, other} {
					got, err := ev.Template(text, param.New("t", "2024-01-01T00:00:00Z"), scopeIn(t, e.zone))
					if err != nil || got != e.want[i] {
						t.Errorf("%s in %s: %s, %v", text, e.zone, got, err)
					}
				}
			}
		}
	}
}

// TestLeak runs scripts that corrupt whatever they can; the next script must not be affected.
func TestLeak(t *testing.T) {
	t.Parallel()
	e := withMoment(t)
	want := evalOrFail(t, e.Template, "${moment(t).format('LLLL')} ${[3,1].join('-')} ${'a'.toUpperCase()} ${typeof leak}")
	for _, spoil := range []string{
		"${moment.locale('xx')}${moment.fn.format = function() { return 'spoilt' }}",
		"${moment.updateLocale('en', {months: ['spoilt']})}", "${moment.prototype.format = null}",
		"${Array.prototype.join = function() { return 'spoilt' }}", "${String.prototype.toUpperCase = null}",
		"${leak = 1}", "${globalThis.leak = 1}", "${Date.prototype.getHours = function() { return 1 }}",
		"${Object.prototype.leak = 1}", "${JSON.stringify = JSON.parse = null}", "${moment = null}",
		"${moment.now = function() { return 0 }}", "${moment(t).constructor.prototype.format = null}",
	} {
		_, _ = e.Template(spoil, param.New("t", 0), scopeIn(t, "UTC"))
		got := evalOrFail(t, e.Template, "${moment(t).format('LLLL')} ${[3,1].join('-')} ${'a'.toUpperCase()} ${typeof leak}")
		if got != want {
			t.Errorf("after %s: %s", spoil, got)
		}
	}
}

func evalOrFail(t *testing.T, template func(string, *param.Map, expr.Scope) (string, error), text string) string {
	t.Helper()
	// Only the first of them uses the shared runtime of pure scripts.
	pure, err := template("${moment(t).format('LLLL')}", param.New("t", "2024-01-01T00:00:00Z"), scopeIn(t, "UTC"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := template(text, param.New("t", "2024-01-01T00:00:00Z"), scopeIn(t, "UTC"))
	if err != nil {
		t.Fatal(err)
	}
	return pure + got
}

// TestThousandMoments limits the cost of isolation.
func TestThousandMoments(t *testing.T) {
	t.Parallel()
	e, s, started := withMoment(t), scopeIn(t, "UTC"), time.Now()
	for range 1000 {
		if _, err := e.Template("${moment()}", nil, s); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(started); took > patience {
		t.Errorf("1000 evaluations took %v", took)
	}
}

// TestDate compares Date in a zone with Go's data about the zone.
func TestDate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, in, want string }{
		{"America/Los_Angeles", "${new Date(2024, 0, 1, 0, 0, 0).toISOString()} ${new Date('2024-02-29T12:34:56+00:00').getTime()} ${new Date('2024-02-29T12:34:56+00:00').getTimezoneOffset()} ${new Date('2024-02-29T12:34:56+00:00').getHours()}",
			"2024-01-01T08:00:00.000Z 1709210096000 480 4"}, // recording b35
		{"America/New_York", "${Date()}|${new Date()}|${String(new Date(0))}", `Thu Feb 29 2024 07:34:56 GMT-0500 (EST)|"2024-02-29T12:34:56.789Z"|Wed Dec 31 1969 19:00:00 GMT-0500 (EST)`},
		{"America/New_York", "${new Date(2024, 2, 10, 2, 30).toISOString()} ${new Date(2024, 10, 3, 1, 30).toISOString()}", "2024-03-10T06:30:00.000Z 2024-11-03T06:30:00.000Z"},
		{"America/New_York", "${new Date('2024-07-01').getTimezoneOffset()} ${new Date('2024-07-01').getDate()} ${new Date('2024-07-01 00:00:00').toISOString()}", "240 30 2024-07-01T04:00:00.000Z"},
		{"Asia/Tokyo", "${new Date('2024/07/01').getTime()} ${new Date('Jul 1, 2024 10:00 PM').toISOString()} ${Date.parse('Mon, 01 Jul 2024 00:00:00 GMT')}", "1719759600000 2024-07-01T13:00:00.000Z 1719792000000"},
		{"Asia/Tokyo", "${new Date(String(new Date(1e12))).getTime()} ${Date.parse('x')} ${new Date(NaN).getDay()} ${Date.UTC(2024, 0)}", "1000000000000 null null 1704067200000"},
		{"Asia/Kathmandu", "${new Date(2024, 11, 31).setMonth(1)} ${new Date(2024, 0, 1).setHours(25, 61, 61, 1001)}", "1709316900000 1704140222001"},
		{"UTC", "${new Date(99, 0).getFullYear()} ${new Date(-1).getMilliseconds()} ${new Date(2024, 0, 31).setDate(0)} ${new Date(1e20)}", "1999 999 1703980800000 null"},
		{"UTC", "${Date.now()} ${new Date(new Date(5)).getTime()} ${new Date('5').getTime() !== 5} ${new Date(true).getTime()} ${typeof Date.prototype.constructor}", "1709210096789 5 true 1 function"},
		{"UTC", "${new Date() instanceof Date} ${Object.prototype.toString.call(new Date())} ${(class extends Date {}).name} ${new (class X extends Date {})(7).getTime()}", "true [object Date]  7"},
		{"Asia/Tokyo", "${new Date('2024-01-01T10:00').toISOString()} ${new Date('2024-01-01 10:00').toISOString()}", "2024-01-01T10:00:00.000Z 2024-01-01T01:00:00.000Z"},
		{"Asia/Tokyo", "${new Date(0) + ''} ${new Date(0).toLocaleString()} ${new Date(0).toLocaleDateString()}", "0 Thu Jan 01 1970 09:00:00 GMT+0900 (JST) 1970-01-01"},
		{"America/Sao_Paulo", "${new Date(2018, 10, 4).toISOString()}", "2018-11-04T02:00:00.000Z"},
	} {
		t.Run(c.zone+" "+c.in, func(t *testing.T) {
			t.Parallel()
			got, err := newEvaluator(nil).Template(c.in, nil, scopeIn(t, c.zone))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
