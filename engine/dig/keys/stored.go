package keys

import (
	"zerodag/engine/param"
)

// EvalsStored says whether a workflow exports `eval: {stored: true}`: what its operators
// store is evaluated again then, as the original does. Else it is data.
func EvalsStored(workflow *param.Map) bool {
	on, err := param.AsBool("eval.stored", workflow.Map("_export").Map("eval").Value("stored"))
	return on && err == nil
}
