package redshift

import (
	"strings"

	"zerodag/engine/param"
)

// unloadOptions are the options of UNLOAD in the order in which they are written.
var unloadOptions = [...]option{
	{"manifest", flag("MANIFEST")}, {"encrypted", flag("ENCRYPTED")}, {"allowoverwrite", flag("ALLOWOVERWRITE")}, {"delimiter", text("DELIMITER")},
	{"fixedwidth", text("FIXEDWIDTH")}, {"gzip", flag("GZIP")}, {"bzip2", flag("BZIP2")}, {"null_as", text("NULL AS")}, {"escape", flag("ESCAPE")},
	{"addquotes", flag("ADDQUOTES")}, {"parallel", onOff("PARALLEL")},
}

func readUnload(w *task) error {
	p := w.params
	query, err := p.String("query")
	if err != nil {
		return err
	}
	to, err := p.String("to")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(to, "s3://") {
		return param.Errorf("'to' should start with 's3://'. to=%s", to)
	}
	if !strings.HasSuffix(to, "/") {
		to += "/"
	}
	w.copy = &transfer{
		what:   "unload rows",
		begin:  func(id string) string { return "UNLOAD (" + literal(query) + ")\nTO " + literal(to+id+"_") },
		clears: func(id string) (place, error) { return asPlace(to + id + "_") },
		grants: func(id string) ([]grant, error) {
			at, err := asPlace(to + id + "_")
			return []grant{{at, "s3:PutObject"}}, err
		},
	}
	if w.copy.options, err = readOptions(p, unloadOptions[:]); err != nil {
		return err
	}
	if err := apart(w.copy.options, [][2]string{{"DELIMITER", "FIXEDWIDTH"}, {"FIXEDWIDTH", "ESCAPE"}, {"FIXEDWIDTH", "ADDQUOTES"}}); err != nil {
		return err
	}
	return readTransfer(w)
}
