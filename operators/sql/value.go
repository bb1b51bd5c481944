package sql

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"zerodag/engine/param"
)

// Column is one of a result's columns. OID is PostgreSQL's number for the type; Kind and Category are known for types
// without a form.
type Column struct {
	Name           string
	OID            uint32
	Modifier       int32  // of the type: the length of a bit string
	Kind, Category string // "jsonb", "U": pg_type.typname and typcategory
}

// singleBit reports whether values are one bit, which is a boolean.
func (c Column) singleBit() bool { return c.OID == 1560 && c.Modifier == 1 }

// form describes how values of a type are converted: when stored, and in a CSV file, where nil means the server's own
// text. Values that do not fit, such as "infinity", stay text.
type form struct {
	stored func(text string) (param.Value, bool)
	csv    func(text string) string
}

// forms holds Digdag's forms, as its driver, JSON library and CSV writer produced them, by PostgreSQL's permanent type
// ids.
var forms = map[uint32]form{
	16:   {asBool, boolText}, // bool
	17:   {asBytes, nil},     // bytea
	18:   {},                 // "char"
	19:   {},                 // name
	20:   {asNumber, nil},    // bigint
	21:   {asNumber, nil},    // smallint
	23:   {asNumber, nil},    // integer
	25:   {},                 // text
	26:   {asNumber, nil},    // oid
	600:  {asShape("point"), shapeText},
	601:  {asShape("lseg"), shapeText},
	602:  {asShape("path"), shapeText},
	603:  {asShape("box"), shapeText},
	604:  {asShape("polygon"), shapeText},
	628:  {asShape("line"), shapeText},
	718:  {asShape("circle"), shapeText},
	700:  {asFloat, floatText},    // real
	701:  {asFloat, floatText},    // double precision
	705:  {},                      // unknown
	790:  {asMoney, moneyText},    // money
	1042: {},                      // character
	1043: {},                      // varchar
	1082: {asTime(dateForm), nil}, // date
	1083: {asClock, clockText},    // time
	1114: {asTime(timestampForm), timestampText},
	1184: {asTime(timestamptzForm), timestampText},
	1186: {asInterval, intervalText},
	1266: {asZonedClock, zonedClockText}, // time with time zone
	1700: {asNumber, nil},                // numeric
	2950: {},                             // uuid
}

const (
	dateForm        = "2006-01-02"
	timestampForm   = "2006-01-02 15:04:05"
	timestamptzForm = "2006-01-02 15:04:05-07"
)

// value returns the stored form of a string from the server.
func (c Column) value(text string) param.Value {
	f, known := forms[c.OID]
	if c.singleBit() {
		return text == "1"
	}
	if f.stored != nil {
		if v, fits := f.stored(text); fits {
			return v
		}
	}
	// Arrays and enumerations are text; the rest are types for which the driver had no class.
	if known || slices.Contains([]string{"A", "E", "S", ""}, c.Category) {
		return text
	}
	return object(c.Kind, text)
}

// csv returns a string from the server for a file.
func (c Column) csv(text string) string {
	if c.singleBit() {
		return strconv.FormatBool(text == "1")
	}
	if f := forms[c.OID]; f.csv != nil {
		return f.csv(text)
	}
	return text
}

func asBool(text string) (param.Value, bool) { return text == "t", true }

func boolText(text string) string { return strconv.FormatBool(text == "t") }

func asBytes(text string) (param.Value, bool) {
	digits, isHex := strings.CutPrefix(text, `\x`)
	bytes, err := hex.DecodeString(digits)
	return base64.StdEncoding.EncodeToString(bytes), isHex && err == nil
}

func asNumber(text string) (param.Value, bool) {
	v, err := param.ParseNumber(text)
	return v, err == nil && !notANumber(text)
}

func asFloat(text string) (param.Value, bool) {
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && !notANumber(text)
}

// notANumber reports whether JSON has no number for a string: NaN and the infinities.
func notANumber(text string) bool { return strings.ContainsAny(text, "NI") }

func floatText(text string) string {
	if f, fits := asFloat(text); fits {
		return param.FloatText(f.(float64))
	}
	return text
}

// asMoney reads "-$1,234.50" and "($1,234.50)".
func asMoney(text string) (param.Value, bool) {
	plain := strings.NewReplacer("$", "", ",", "", "(", "-", ")", "").Replace(text)
	f, err := strconv.ParseFloat(plain, 64)
	return f, err == nil
}

func moneyText(text string) string {
	if f, fits := asMoney(text); fits {
		return param.FloatText(f.(float64))
	}
	return text
}

// endless maps infinite times to the milliseconds that Digdag's driver uses for them.
var endless = map[string]int64{"infinity": 9223372036825200000, "-infinity": -9223372036832400000}

// asTime returns milliseconds since 1970, as in Digdag; a time without a zone is UTC.
func asTime(layout string) func(text string) (param.Value, bool) {
	return func(text string) (param.Value, bool) {
		if n, is := endless[text]; is {
			return n, true
		}
		t, err := time.Parse(layout, text)
		return t.UnixMilli(), err == nil
	}
}

// asClock returns a time of day to the second.
func asClock(text string) (param.Value, bool) { return clockText(text), true }

func clockText(text string) string {
	whole, _, _ := strings.Cut(text, ".")
	if whole == "24:00:00" {
		return "00:00:00"
	}
	return whole
}

// asZonedClock returns a time of day in UTC.
func asZonedClock(text string) (param.Value, bool) { return zonedClockText(text), true }

func zonedClockText(text string) string {
	for _, layout := range []string{"15:04:05-07", "15:04:05-07:00", "15:04:05-07:00:00"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC().Format(time.TimeOnly)
		}
	}
	return text
}

// timestampText formats a timestamp in UTC, always with a fraction of a second and without a zone.
func timestampText(text string) string {
	text = strings.TrimSuffix(text, "+00")
	if len(text) == len(timestampForm) {
		text += ".0"
	}
	return text
}

func oidText(oid uint32) string { return strconv.FormatUint(uint64(oid), 10) }

// mapOrder returns the order in which Digdag writes a row's columns: the order of its hash map. Workflows that print a
// row as JSON show it.
func mapOrder(columns []Column) []int {
	buckets := 16
	for 4*len(columns) > 3*buckets {
		buckets *= 2
	}
	order := make([]int, len(columns))
	for i := range order {
		order[i] = i
	}
	bucket := func(i int) int {
		hash := textHash(columns[i].Name)
		return int((hash ^ hash>>16) & uint32(buckets-1))
	}
	slices.SortStableFunc(order, func(a, b int) int { return bucket(a) - bucket(b) })
	return order
}

func textHash(text string) uint32 {
	var hash uint32
	for _, unit := range utf16.Encode([]rune(text)) {
		hash = 31*hash + uint32(unit)
	}
	return hash
}
