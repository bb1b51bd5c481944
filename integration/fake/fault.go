package fake

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// Fault is the fault of one request.
type Fault string

// What can go wrong.
const (
	None       Fault = ""
	Throttled  Fault = "429"
	Limited    Fault = "403" // another way to report too many requests
	Broken     Fault = "500"
	Away       Fault = "503"        // not in the service's form, as of something in between
	Cut        Fault = "cut"        // the connection ends, and nothing is done
	Lost       Fault = "lost"       // the request is carried out, and the connection ends
	Slow       Fault = "slow"       // an answer comes in small pieces
	Half       Fault = "half"       // an answer ends in its middle
	Nonsense   Fault = "nonsense"   // it is done, and the answer is in no form of the service
	HugeHeader Fault = "hugeheader" // it is done, and the head of the answer has no end
)

// Faults selects which requests fail.
type Faults struct {
	// At are faults of single requests by their number, from 1.
	At map[int]Fault
	// Every is a fault of every request, or of those whose path holds Path.
	Every Fault
	Path  string
	// After is the value of Retry-After in refusals.
	After string
	// Other is a fault of every other request, from the first.
	Other Fault
	// Rate is the share of requests that have one of Kinds, by chance from Seed; nil is the fake's own list.
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

// Send writes a content as the fault has it.
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

// Text is an answer whose content is known.
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
