package gcp

import (
	"regexp"
	"strings"
	"sync"

	"zerodag/engine/param"
	"zerodag/operators"
)

// dataset is the name of a dataset. The project is "" if none is given.
type dataset struct{ project, id string }

// resource returns the name in BigQuery's form: a DatasetReference.
func (d dataset) resource() *param.Map {
	if d.project == "" {
		return param.New("datasetId", d.id)
	}
	return param.New("projectId", d.project, "datasetId", d.id)
}

// table is a table's name.
type table struct{ project, dataset, id string }

// resource returns the name in BigQuery's form: a TableReference.
func (t table) resource() *param.Map {
	return param.New("projectId", t.project, "datasetId", t.dataset, "tableId", t.id)
}

var (
	datasetForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:([^:]+):)?([^.]+)$`) })
	tableForm   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:([^:]+):)?(?:([^.]+)\.)?([a-zA-Z0-9_]+(?:\$[0-9]{8})?)$`)
	})
)

// mostTableName is the maximum length of a table name, without a partition.
const mostTableName = 1024

// readDataset reads [project:]dataset.
func readDataset(text string) (dataset, error) {
	m := datasetForm().FindStringSubmatch(text)
	if m == nil {
		return dataset{}, operators.Faultf("illegal argument", "Bad dataset reference: %s", text)
	}
	return dataset{m[1], m[2]}, nil
}

// readTable reads [project:][dataset.]table[$yyyymmdd]. Missing parts come from the task's dataset, whose project takes
// precedence over the credential's.
func (w *work) readTable(text string) (table, error) {
	m := tableForm().FindStringSubmatch(text)
	if m != nil {
		if name, _, _ := strings.Cut(m[3], "$"); len(name) > mostTableName {
			m = nil
		}
	}
	if m == nil {
		return table{}, operators.Faultf("illegal argument", "Bad table reference: %s", text)
	}
	of, err := w.dataset()
	if err != nil {
		return table{}, err
	}
	t := table{m[1], m[2], m[3]}
	if t.project == "" && of != nil {
		t.project = of.project
	}
	if t.project == "" {
		t.project = w.project
	}
	if t.dataset == "" && of == nil {
		return table{}, operators.Faultf("illegal argument", "Bad table reference. Either configure 'dataset' or include dataset name in table reference: %s", text)
	}
	if t.dataset == "" {
		t.dataset = of.id
	}
	return t, nil
}

// dataset returns the task's own dataset; nil if it has none.
func (w *work) dataset() (*dataset, error) {
	text, err := w.params.StringOr("dataset", "")
	if err != nil || !w.params.Has("dataset") {
		return nil, err
	}
	d, err := readDataset(text)
	return &d, err
}
