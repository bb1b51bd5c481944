package env

// Names of attributes that have a meaning for the whole table.
const (
	PartitionKey = "p" // S
	SortKey      = "s" // S
	Expiry       = "x" // N, seconds since 1970, after which DynamoDB deletes the item
)

// Index is a global secondary index that contains only keys. Rows are read from the table, so a change to a row does
// not rewrite a list.
type Index struct {
	Name      string
	Partition string // an attribute of type S; items without it are not in the index
	Sort      string // an attribute of type N
}

// BySite lists a site's items, by id.
func BySite() Index { return Index{"site", "gs", "i"} }

// ByProject lists a project's items, by id.
func ByProject() Index { return Index{"project", "gp", "i"} }

// ByWorkflow lists a workflow's items, by id.
func ByWorkflow() Index { return Index{"workflow", "gw", "i"} }

// Active lists the attempts that have not ended, by id.
func Active() Index { return Index{"active", "ga", "i"} }

// Due lists schedules and timers, by time.
func Due() Index { return Index{"due", "gd", "d"} }

// Indexes lists all indexes. infra creates the table from this list, and internal/dynamo queries it. The table is
// billed on demand, with point-in-time recovery, encryption, and Expiry as its time to live.
func Indexes() []Index { return []Index{BySite(), ByProject(), ByWorkflow(), Active(), Due()} }
