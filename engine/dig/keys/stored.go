package keys

import (
	"zerodag/engine/param"
)

// EvalsStored reports whether a workflow exports `eval: {stored: true}`. In that case, values that its operators store
// are evaluated again, as in Digdag; otherwise they are data.
func EvalsStored(workflow *param.Map) bool {
	on, err := param.AsBool("eval.stored", workflow.Map("_export").Map("eval").Value("stored"))
	return on && err == nil
}
