package redshift

import (
	"strings"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/sql"
)

// loadOptions are the options of COPY in the order in which they are written.
var loadOptions = [...]option{
	{"readratio", number("READRATIO")}, {"manifest", flag("MANIFEST")}, {"encrypted", flag("ENCRYPTED")}, {"region", text("REGION")},
	{"csv", csvOption}, {"delimiter", text("DELIMITER")}, {"fixedwidth", text("FIXEDWIDTH")}, {"json", text("FORMAT AS JSON")}, {"avro", text("FORMAT AS AVRO")},
	{"gzip", flag("GZIP")}, {"bzip2", flag("BZIP2")}, {"lzop", flag("LZOP")}, {"acceptanydate", flag("ACCEPTANYDATE")},
	{"acceptinvchars", text("ACCEPTINVCHARS")}, {"blanksasnull", flag("BLANKSASNULL")}, {"dateformat", text("DATEFORMAT")}, {"emptyasnull", flag("EMPTYASNULL")},
	{"encoding", bare("ENCODING")}, {"escape", flag("ESCAPE")}, {"explicit_ids", flag("EXPLICIT_IDS")}, {"fillrecord", flag("FILLRECORD")},
	{"ignoreblanklines", flag("IGNOREBLANKLINES")}, {"ignoreheader", number("IGNOREHEADER")}, {"null_as", text("NULL AS")},
	{"removequotes", flag("REMOVEQUOTES")}, {"roundec", flag("ROUNDEC")}, {"timeformat", text("TIMEFORMAT")}, {"trimblanks", flag("TRIMBLANKS")},
	{"truncatecolumns", flag("TRUNCATECOLUMNS")}, {"comprows", number("COMPROWS")}, {"compupdate", onOff("COMPUPDATE")}, {"maxerror", number("MAXERROR")},
	{"noload", flag("NOLOAD")}, {"statupdate", onOff("STATUPDATE")},
}

// loadApart are options of COPY that are mutually exclusive.
var loadApart = [...][2]string{
	{"CSV", "FIXEDWIDTH"}, {"CSV", "REMOVEQUOTES"}, {"CSV", "ESCAPE"}, {"DELIMITER", "FIXEDWIDTH"},
	{"JSON", "CSV"}, {"JSON", "DELIMITER"}, {"JSON", "FIXEDWIDTH"}, {"JSON", "AVRO"}, {"JSON", "ESCAPE"}, {"JSON", "REMOVEQUOTES"},
	{"AVRO", "CSV"}, {"AVRO", "DELIMITER"}, {"AVRO", "FIXEDWIDTH"}, {"AVRO", "ESCAPE"}, {"AVRO", "REMOVEQUOTES"},
}

func readLoad(w *task) error {
	p := w.params
	to, err := operators.Read(p, "table", sql.AsTable)
	if err != nil {
		return err
	}
	columns, err := operators.ReadOr(p, "column_list", asColumns, "")
	if err != nil {
		return err
	}
	from, err := p.String("from")
	if err != nil {
		return err
	}
	w.copy = &transfer{what: "load files", begin: func(string) string { return "COPY " + to.Quoted() + columns + "\nFROM " + literal(from) }}
	if w.copy.options, err = readOptions(p, loadOptions[:]); err != nil {
		return err
	}
	if err := apart(w.copy.options, loadApart[:]); err != nil {
		return err
	}
	if manifest, err := p.BoolOr("manifest", false); err == nil && manifest {
		w.copy.manifest = from
	}
	paths := []string{from}
	for _, key := range []string{"json", "avro"} {
		if more, err := p.StringOr(key, ""); err == nil && strings.HasPrefix(more, "s3://") {
			paths = append(paths, more)
		}
	}
	w.copy.grants = func(string) ([]grant, error) {
		var list []grant
		for _, path := range paths {
			g, err := mayRead(path)
			if err != nil {
				return nil, err
			}
			list = append(list, g)
		}
		return list, nil
	}
	return readTransfer(w)
}

// asColumns reads names separated by commas.
func asColumns(key string, v param.Value) (string, error) {
	text, err := param.AsString(key, v)
	if err != nil {
		return "", err
	}
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.Trim(strings.TrimSpace(name), `"`); name == "" {
			return "", param.Errorf("Parameter '%s' has an empty name: %s", key, text)
		}
		names = append(names, sql.Quoted(name))
	}
	return " (" + strings.Join(names, ", ") + ")", nil
}
