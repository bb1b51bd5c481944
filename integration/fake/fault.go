package fake

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// Fault is the fault of one request.
type Fault string

// The faults.
const (
	None       Fault = ""
	Throttled  Fault = "429"
	Limited    Fault = "403" // another way to report too many requests
	Broken     Fault = "500"
	Away       Fault = "503"        // not in the service's form, as from an intermediary
	Cut        Fault = "cut"        // the connection ends, and the request is not carried out
	Lost       Fault = "lost"       // the request is carried out, and the connection ends
	Slow       Fault = "slow"       // the response arrives in small pieces
	Half       Fault = "half"       // the response ends in the middle
	Nonsense   Fault = "nonsense"   // the request is carried out, and the response is not in the service's form
	HugeHeader Fault = "hugeheader" // the request is carried out, and the head of the response never ends
)

// Faults selects which requests fail.
type Faults struct {
	// At holds faults of single requests by their number, from 1.
	At map[int]Fault
	// Every is a fault of every request, or only of requests whose path contains Path.
	Every Fault
	Path  string
	// After is the value of Retry-After in refusals.
	After string
	// Other is a fault of every second request, beginning with the first.
	Other Fault
	// Rate is the share of requests that randomly get one of Kinds, depending on Seed; if Kinds is nil, the fake's own
	// list is used.
	Rate  float64
	Seed  uint64
	Kinds []Fault
}

func (f Faults) of(n int, path string, kinds []Fault) Fault {
	if fault, listed := f.At[n]; listed {
		return fault
	}
	if f.Every != None && strings.Contains(path, f.Path) {
		return f.Every
	}
	if f.Other != None && n%2 == 1 {
		return f.Other
	}
	chance := rand.New(rand.NewPCG(f.Seed, uint64(n))) // #nosec G404 -- the same each time
	if n == 0 || chance.Float64() >= f.Rate {
		return None
	}
	if f.Kinds != nil {
		kinds = f.Kinds
	}
	return kinds[chance.IntN(len(kinds))]
}

// Send writes content, changed by the fault.
func (f Fault) Send(w http.ResponseWriter, content []byte) {
	switch f {
	case Half:
		w.Write(content[:len(content)/2])
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case Slow:
		for len(content) > 0 {
			n := min(len(content), 16)
			w.Write(content[:n])
			http.NewResponseController(w).Flush()
			content = content[n:]
			time.Sleep(time.Millisecond)
		}
	default:
		w.Write(content)
	}
}

// Text is a response with a fixed content.
type Text struct {
	Status  int
	Type    string
	Content string
}

// Write implements Answer.
func (a Text) Write(w http.ResponseWriter, f Fault) {
	if a.Status == http.StatusNoContent {
		w.WriteHeader(a.Status)
		return
	}
	w.Header().Set("Content-Type", a.Type)
	w.WriteHeader(a.Status)
	f.Send(w, []byte(a.Content))
}
