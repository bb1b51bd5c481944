package script

import (
	"math"
	"time"

	"github.com/dop251/goja"
)

// maxInstant is the last instant of a Date, in milliseconds.
const maxInstant = 8.64e15

// dateHost returns the functions that date.js needs for the zone of the scope.
func (x *script) dateHost() *goja.Object {
	return x.host(hostFunction{"put", x.putCall},
		hostFunction{"field", x.dateField}, hostFunction{"instant", x.dateInstant},
		hostFunction{"parse", x.dateParse}, hostFunction{"format", x.dateFormat})
}

// local returns the local time of a Date's value; false if the Date is invalid.
func (x *script) local(v goja.Value) (time.Time, bool) {
	ms := v.ToFloat()
	if math.IsNaN(ms) {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(ms)).In(x.scope.Location()), true
}

// dateField(ms, n) returns the nth of year, month, day, hours, minutes, seconds, milliseconds, day of week and minutes
// ahead of UTC.
func (x *script) dateField(call goja.FunctionCall) goja.Value {
	t, ok := x.local(call.Argument(0))
	if !ok {
		return goja.NaN()
	}
	n := 0
	switch call.Argument(1).ToInteger() {
	case 0:
		n = t.Year()
	case 1:
		n = int(t.Month()) - 1
	case 2:
		n = t.Day()
	case 3:
		n = t.Hour()
	case 4:
		n = t.Minute()
	case 5:
		n = t.Second()
	case 6:
		n = t.Nanosecond() / 1e6
	case 7:
		n = int(t.Weekday())
	case 8:
		_, offset := t.Zone()
		if offset%60 != 0 {
			return x.rt.ToValue(-float64(offset) / 60)
		}
		n = -offset / 60
	}
	return x.rt.ToValue(n)
}

// dateInstant([year, month, ...]) returns the instant of local fields, which may be out of range, in milliseconds.
func (x *script) dateInstant(call goja.FunctionCall) goja.Value {
	list := call.Argument(0).ToObject(x.rt)
	var f [7]float64
	for i := range f {
		f[i] = list.Get(string(rune('0' + i))).ToFloat()
	}
	return x.rt.ToValue(instant(f, x.scope.Location()))
}

func instant(f [7]float64, zone *time.Location) float64 {
	for i := range f {
		if f[i] = math.Trunc(f[i]); math.IsNaN(f[i]) || math.Abs(f[i]) > maxInstant {
			return math.NaN()
		}
	}
	year := f[0] + math.Floor(f[1]/12)
	if math.Abs(year) > 300000 {
		return math.NaN()
	}
	month := int(f[1] - 12*math.Floor(f[1]/12))
	days := float64(time.Date(int(year), time.Month(month+1), 1, 0, 0, 0, 0, time.UTC).Unix()/86400) + f[2] - 1
	wall := days*86400e3 + f[3]*3600e3 + f[4]*60e3 + f[5]*1e3 + f[6]
	if math.Abs(wall) > maxInstant+86400e3 {
		return math.NaN()
	}
	ms := wall - 1000*float64(offsetAt(int64(math.Floor(wall/1000)), zone))
	if math.Abs(ms) > maxInstant {
		return math.NaN()
	}
	return ms + 0 // not -0
}

// maxOffset is larger than the offset of any zone from UTC, in seconds.
const maxOffset = 26 * 3600

// offsetAt returns the offset of a local time, given in seconds as if it were UTC. It is the offset after the
// transition, both for a time that the clock skips and for a time that it shows twice: Digdag follows ECMAScript 5
// here, not later editions.
func offsetAt(wall int64, zone *time.Location) int64 {
	t := time.Unix(wall-maxOffset, 0).In(zone)
	_, offset := t.Zone()
	for {
		_, end := t.ZoneBounds()
		if end.IsZero() {
			return int64(offset)
		}
		if !end.After(t) { // if only a rule describes a year, Go ends it after 365 days, even a leap year
			end = time.Date(t.UTC().Year()+1, time.January, 1, 0, 0, 0, 0, time.UTC).In(zone)
		}
		_, next := end.Zone()
		if wall < end.Unix()+int64(min(offset, next)) {
			return int64(offset)
		}
		t, offset = end, next
	}
}

// dateFormat(ms, n) returns the text of toString, toDateString, toTimeString or one of their toLocale variants.
func (x *script) dateFormat(call goja.FunctionCall) goja.Value {
	t, ok := x.local(call.Argument(0))
	if !ok {
		return x.rt.ToValue("Invalid Date")
	}
	layout := ""
	switch call.Argument(1).ToInteger() {
	case 0:
		layout = "Mon Jan 02 2006 15:04:05 GMT-0700 (MST)"
	case 1:
		layout = "Mon Jan 02 2006"
	case 2:
		layout = "15:04:05 GMT-0700 (MST)"
	case 3:
		layout = "Mon Jan 02 2006 15:04:05 GMT-0700 (MST)"
	case 4:
		layout = "2006-01-02"
	case 5:
		layout = "15:04:05"
	}
	return x.rt.ToValue(t.Format(layout))
}

func (x *script) dateParse(call goja.FunctionCall) goja.Value {
	f, zone, ok := parseDate(call.Argument(0).String(), x.scope.Location())
	if !ok {
		return goja.NaN()
	}
	return x.rt.ToValue(instant(f, zone))
}
