package script

import (
	"testing"

	"zerodag/engine/param"
)

// TestMistakes checks which expressions are reported as probably unintended, whatever their parameters, and that
// meaningful ones are not.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1 < n < 5":                              "a < b < c compares true or false with c",
		"9 <= n < 17":                            "a < b < c compares true or false with c",
		"n == NaN":                               "nothing equals NaN, not even NaN",
		"list != []":                             "a list never equals another list, even with the same values",
		"moment().day() == 7":                    "day() is 0 for Sunday to 6 for Saturday, never 7",
		"moment(x).month() === 12":               "month() is 0 for January to 11 for December, never 12",
		"moment(x).format('%Y-%m-%d')":           "in the format '%Y-%m-%d', % is literal text: in moment, the year is YYYY, the month MM, the day DD",
		"moment(x).format('yyyy/MM/DD')":         "in the format 'yyyy/MM/DD', yyyy is the era year: write YYYY for the year",
		"moment(x).format('YYYY-mm-DD')":         "in the format 'YYYY-mm-DD', mm means minutes: write MM for the month",
		"moment(x).format('DD.mm.YYYY')":         "in the format 'DD.mm.YYYY', mm means minutes: write MM for the month",
		"moment(x).format('YYYYmmDD')":           "in the format 'YYYYmmDD', mm means minutes: write MM for the month",
		"moment(x).format('YYYY-mm')":            "in the format 'YYYY-mm', mm means minutes: write MM for the month",
		"moment(x).format('HH:MM')":              "in the format 'HH:MM', MM means the month: write mm for minutes",
		"moment(x).format('HH:mm:SS')":           "in the format 'HH:mm:SS', SS means fractions of a second: write ss for seconds",
		"moment(x).format('YYYY-MM-DDD')":        "in the format 'YYYY-MM-DDD', DDD is the day of the year: write DD for the day of the month",
		"moment(x).format('ddMMYYYY')":           "in the format 'ddMMYYYY', dd is a day of the week, such as Su: write DD for the day of the month",
		"moment(x).format('YYYY-MM-dd')":         "in the format 'YYYY-MM-dd', dd is a day of the week, such as Su: write DD for the day of the month",
		"moment(x).format('hh:mm')":              "in the format 'hh:mm', h counts from 1 to 12, but AM or PM is missing",
		"moment(x).add(1, 'dy').format()":        "moment has no unit 'dy', so add ignores it",
		"moment(x).startOf('hours of').format()": "moment has no unit 'hours of', so startOf ignores it",
		"moment(a).diff(moment(b), 'daily')":     "moment has no unit 'daily', so diff ignores it",
		"moment(x).subtract('day').format()":     `subtract("day") changes nothing: the number is missing`,
		"(1234.5).toLocaleString('de-DE')":       "expressions support only English: toLocaleString(...)",
		"moment(x).locale('de').format()":        "expressions support only English: locale(...)",
		"'a.b'.replaceAll('.', '-')":             "the first argument of replaceAll is a pattern, as in Java: .",
		"len(x)":                                 "unknown function len",
		"day | replace('-', '')":                 "unknown function replace",
		"require('fs').readFileSync('x')":        "unknown function require",
		"moment(session_time)":                   "without .format(), a moment is printed as a UTC time in quotes",
		"moment(session_time).add(1, 'day')":     "without .format(), a moment is printed as a UTC time in quotes",
		"moment(x).day() == 'Sunday'":            "day() is a number (0 for Sunday to 6 for Saturday), never 'Sunday'",
		"moment(x).hour() == 24":                 "hour() is 0 to 23, never 24",
		"moment(x).isoWeekday() === 0":           "isoWeekday() is 1 for Monday to 7 for Sunday, never 0",
		"moment(x).add(1).format()":              "add without a unit counts milliseconds",
		"failed['+fetch']":                       "names in failed do not begin with +",
		"days[-1]":                               "negative list indexes are undefined",
		// valid
		"moment(x).day() == '6'": "", "moment(x).hour() > 20": "", "days[0]": "", "days[n - 1]": "", "moment(x).add(n).format()": "", "moment(x).add(moment.duration(1, 'd')).format()": "",
		"(1 < n) == (n < 5)": "", "(1 < n) < 2": "", "1 < n && n < 5": "", "isNaN(n)": "", "list.length == 0": "", "moment().day() == 0": "", "moment(x).month() == 11": "", "day() == 7": "unknown function day",
		"moment(x).format('YYYY-MM-DD HH:mm:ss.SSS')": "", "moment(x).format('YYYYMMDD')": "", "moment(x).format('h:mm A')": "", "moment(x).format('HHmm')": "", "moment(x).format('mm:ss')": "", "moment(x).format('DDD')": "",
		"moment(x).format('DDDD')": "", "moment(x).format('dddd, MMMM Do YYYY')": "", "moment(x).format('dd')": "", "moment(x).format('[yyyy-mm-dd %d] YYYY')": "", "moment(x).format('YYYY-MM-DD dd')": "", "moment(x).format('MMMM dddd')": "",
		"moment(x).format('YYYY-MM-DDTHH:mm:ssZ')": "", "moment(x).format('YYYY[-W]WW')": "", "moment(x).format('YYYY-[Q]Q')": "", "moment(x).format('L LT')": "", "moment(x).format('x')": "", "moment(x).format('MM/DD/YYYY')": "",
		"moment(x).format('YYYY-MM-DD_HH-mm-ss')": "", "moment(x).format('YYYYMMDDHHmmss')": "", "moment(x).format('YY-M-D H:m')": "", "moment(x).format('DD-MMM-YYYY')": "", "moment(x).format('ddd MMM DD HH:mm:ss YYYY')": "",
		"moment(x).format('kk:mm')": "", "moment(x).format('YYYY-MM-DD hh:mm a')": "", "moment(x).format('D MMMM')": "", "moment(x).format('DDMMYYYY')": "", "moment(x).format('E')": "",
		"moment(x).add(1, 'days').startOf('month').format()": "", "moment(x).add(2, 'M').format()": "", "moment(x).add({days: 1}).format()": "", "moment(x).add('01:30').format()": "", "moment(x).startOf('isoWeek').format()": "",
		"moment(a).diff(moment(b), 'hours', true)": "", "new Set([1]).add('x').size": "", "(5).toLocaleString()": "", "moment(x).locale('en').format()": "", "moment(x).valueOf()": "", "moment(x).utcOffset()": "",
		"'a-b'.replaceAll('-', '')": "", `'a.b'.replaceAll('\\.', '-')`: "", "'a'.replace('.', '')": "", "(function len(x) { return x.length })(s)": "", "[1].map(function(f) { return f(2) })": "", "moment.utc(x).format()": "",
		"moment.unix(5).format('YYYY')": "", "print(5)": "", "parseInt('5') + Math.max(1, 2) + encodeURIComponent('x').length": "", "moment(x).isBefore(moment(y))": "", "moment.duration(5).asHours()": "",
	} {
		got := ""
		for _, u := range Uses("${" + text + "}") {
			if u.Kind == param.Mistake {
				got = u.Says
				if u.Hint == "" {
					t.Errorf("%s: no hint", text)
				}
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
