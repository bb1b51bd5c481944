package tdfake

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// Fault is what goes wrong with one request.
type Fault string

// What can go wrong.
const (
	None       Fault = ""
	Throttled  Fault = "429"
	Broken     Fault = "500"
	Away       Fault = "503"
	Cut        Fault = "cut"        // the connection ends, and nothing is done
	Lost       Fault = "lost"       // what is asked for is done, and the connection ends
	Slow       Fault = "slow"       // a result comes in small pieces
	Half       Fault = "half"       // an answer ends in its middle
	Nonsense   Fault = "nonsense"   // it is done, and the answer is no JSON and no MessagePack
	HugeHeader Fault = "hugeheader" // it is done, and the head of the answer has no end
)

// Faults says which requests go wrong.
type Faults struct {
	// At are faults of single requests by their number, from 1.
	At map[int]Fault
	// Every is a fault of every request, or of those whose path holds Path.
	Every Fault
	Path  string
	// After is what answers that refuse say under Retry-After.
	After string
	// Other is a fault of every other request, from the first.
	Other Fault
	// Rate is how many of all requests have one of Kinds, by chance from Seed; nil is all faults but slow answers and nonsense.
	Rate  float64
	Seed  uint64
	Kinds []Fault
}

func (f Faults) of(n int, path string) Fault {
	if fault, listed := f.At[n]; listed {
		return fault
	}
	if f.Every != None && strings.Contains(path, f.Path) {
		return f.Every
	}
	if f.Other != None && n%2 == 1 {
		return f.Other
	}
	chance := rand.New(rand.NewPCG(f.Seed, uint64(n)))
	if chance.Float64() >= f.Rate {
		return None
	}
	kinds := f.Kinds
	if kinds == nil {
		kinds = []Fault{Throttled, Broken, Away, Cut, Lost, Half}
	}
	return kinds[chance.IntN(len(kinds))]
}

// before deals with a fault in place of the request; false when there is none of that kind.
func (f Fault) before(w http.ResponseWriter, after string) bool {
	if after != "" && (f == Throttled || f == Broken || f == Away) {
		w.Header().Set("Retry-After", after)
	}
	switch f {
	case Throttled:
		http.Error(w, `{"error":"throttled","text":"too many requests"}`, http.StatusTooManyRequests)
	case Broken:
		http.Error(w, `{"error":"broken","text":"internal error"}`, http.StatusInternalServerError)
	case Away:
		http.Error(w, "Service Unavailable", http.StatusServiceUnavailable)
	case Cut:
		panic(http.ErrAbortHandler)
	default:
		return false
	}
	return true
}

// after deals with a fault of a request that was done.
func (f Fault) after(w http.ResponseWriter) bool {
	switch f {
	case Lost:
		panic(http.ErrAbortHandler)
	case Nonsense:
		w.Write([]byte("<html>not what you expect</html>"))
	case HugeHeader:
		for range 4096 {
			w.Header().Add("X-Much", strings.Repeat("x", 300))
		}
	default:
		return false
	}
	return true
}

// write sends a content as the fault has it.
func (f Fault) write(w http.ResponseWriter, content []byte) {
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
