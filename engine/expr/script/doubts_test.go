package script

import (
	"testing"

	"zerodag/engine/param"
)

// TestMistakes checks which expressions are reported as probably not meant, whatever their parameters, and that
// meaningful ones are not.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1 < n < 5":                              "a < b < c compares true or false with c",
		"9 <= n < 17":                            "a < b < c compares true or false with c",
		"n == NaN":                               "nothing equals NaN, not even NaN",
		"list != []":                             "a list never equals another list, even with the same values",
		"moment().day() == 7":                    "day() is 0 for Sunday to 6 for Saturday, and never 7",
		"moment(x).month() === 12":               "month() is 0 for January to 11 for December, and never 12",
		"moment(x).format('%Y-%m-%d')":           "in the form '%Y-%m-%d' % is text here: moment writes the year as YYYY, the month as MM, the day as DD",
		"moment(x).format('yyyy/MM/DD')":         "in the form 'yyyy/MM/DD' yyyy is the year of an era: the year is YYYY",
		"moment(x).format('YYYY-mm-DD')":         "in the form 'YYYY-mm-DD' mm are minutes: the month is MM",
		"moment(x).format('DD.mm.YYYY')":         "in the form 'DD.mm.YYYY' mm are minutes: the month is MM",
		"moment(x).format('YYYYmmDD')":           "in the form 'YYYYmmDD' mm are minutes: the month is MM",
		"moment(x).format('YYYY-mm')":            "in the form 'YYYY-mm' mm are minutes: the month is MM",
		"moment(x).format('HH:MM')":              "in the form 'HH:MM' MM is the month: minutes are mm",
		"moment(x).format('HH:mm:SS')":           "in the form 'HH:mm:SS' SS are parts of a second: seconds are ss",
		"moment(x).format('YYYY-MM-DDD')":        "in the form 'YYYY-MM-DDD' DDD is the day of the year: the day of the month is DD",
		"moment(x).format('ddMMYYYY')":           "in the form 'ddMMYYYY' dd is a day of the week, such as Su: the day of the month is DD",
		"moment(x).format('YYYY-MM-dd')":         "in the form 'YYYY-MM-dd' dd is a day of the week, such as Su: the day of the month is DD",
		"moment(x).format('hh:mm')":              "in the form 'hh:mm' h counts from 1 to 12, and AM or PM is missing",
		"moment(x).add(1, 'dy').format()":        "moment has no unit 'dy', and add ignores it",
		"moment(x).startOf('hours of').format()": "moment has no unit 'hours of', and startOf ignores it",
		"moment(a).diff(moment(b), 'daily')":     "moment has no unit 'daily', and diff ignores it",
		"moment(x).subtract('day').format()":     `subtract("day") changes nothing: the number is missing`,
		"(1234.5).toLocaleString('de-DE')":       "expressions support only English: toLocaleString(...)",
		"moment(x).locale('de').format()":        "expressions support only English: locale(...)",
		"'a.b'.replaceAll('.', '-')":             "the first argument of replaceAll is a pattern here, as in Java: .",
		"len(x)":                                 "there is no function len",
		"day | replace('-', '')":                 "there is no function replace",
		"require('fs').readFileSync('x')":        "there is no function require",
		"moment(session_time)":                   "without .format() a moment prints as a UTC time in quotes",
		"moment(session_time).add(1, 'day')":     "without .format() a moment prints as a UTC time in quotes",
		"moment(x).day() == 'Sunday'":            "day() is a number (0 for Sunday to 6 for Saturday), and never 'Sunday'",
		"moment(x).hour() == 24":                 "hour() is 0 to 23, and never 24",
		"moment(x).isoWeekday() === 0":           "isoWeekday() is 1 for Monday to 7 for Sunday, and never 0",
		"moment(x).add(1).format()":              "add without a unit counts milliseconds",
		"failed['+fetch']":                       "names in failed have no +",
		"days[-1]":                               "a negative index of a list is undefined",
		// valid
		"moment(x).day() == '6'": "", "moment(x).hour() > 20": "", "days[0]": "", "days[n - 1]": "", "moment(x).add(n).format()": "", "moment(x).add(moment.duration(1, 'd')).format()": "",
		"(1 < n) == (n < 5)": "", "(1 < n) < 2": "", "1 < n && n < 5": "", "isNaN(n)": "", "list.length == 0": "", "moment().day() == 0": "", "moment(x).month() == 11": "", "day() == 7": "there is no function day",
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
