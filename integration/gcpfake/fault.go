package gcpfake

import (
	"math/rand/v2"
	"net/http"
	"strings"
)

// Fault is what goes wrong with one request.
type Fault string

// What can go wrong.
const (
	None      Fault = ""
	Throttled Fault = "429"
	Limited   Fault = "403" // BigQuery's other way to say that there were too many
	Broken    Fault = "500"
	Away      Fault = "503"      // not in Google's form, as of something between
	Cut       Fault = "cut"      // the connection ends, and nothing is done
	Lost      Fault = "lost"     // what is asked for is done, and the connection ends
	Half      Fault = "half"     // an answer ends in its middle
	Nonsense  Fault = "nonsense" // it is done, and the answer is no JSON
)

// Faults says which requests go wrong. Those for tokens have the number 0.
type Faults struct {
	// At are faults of single requests by their number, from 1.
	At map[int]Fault
	// Every is a fault of every request, or of those whose path holds Path.
	Every Fault
	Path  string
	// After is what answers that refuse say under Retry-After.
	After string
	// Rate is how many of all requests of the APIs have a fault, by chance from Seed.
	Rate float64
	Seed uint64
}

func (f Faults) of(n int, path string) Fault {
	if fault, listed := f.At[n]; listed {
		return fault
	}
	if f.Every != None && strings.Contains(path, f.Path) {
		return f.Every
	}
	chance := rand.New(rand.NewPCG(f.Seed, uint64(n))) // #nosec G404 -- the same each time
	if n == 0 || chance.Float64() >= f.Rate {
		return None
	}
	kinds := []Fault{Throttled, Limited, Broken, Away, Cut, Lost, Half}
	return kinds[chance.IntN(len(kinds))]
}

// before deals with a fault in place of the request; false when there is none of that kind.
func (f Fault) before(w http.ResponseWriter, after string) bool {
	if after != "" {
		w.Header().Set("Retry-After", after)
	}
	switch f {
	case Throttled:
		failed(http.StatusTooManyRequests, "rateLimitExceeded", "Too many requests.").send(w)
	case Limited:
		failed(http.StatusForbidden, "rateLimitExceeded", "Exceeded rate limits.").send(w)
	case Broken:
		failed(http.StatusInternalServerError, "backendError", "Error encountered during execution. Retrying may solve the problem.").send(w)
	case Away:
		http.Error(w, "<html>upstream is away</html>", http.StatusServiceUnavailable)
	case Cut:
		panic(http.ErrAbortHandler)
	default:
		return false
	}
	return true
}

// write answers a request that was done.
func (f Fault) write(w http.ResponseWriter, a answer) {
	switch f {
	case Lost:
		panic(http.ErrAbortHandler)
	case Nonsense:
		answer{http.StatusOK, "<html>not what you expect</html>"}.send(w)
	case Half:
		w.Header().Set("Content-Length", "100000")
		answer{a.status, a.body[:len(a.body)/2]}.send(w)
		panic(http.ErrAbortHandler)
	default:
		a.send(w)
	}
}

func (a answer) send(w http.ResponseWriter) {
	if a.status == http.StatusNoContent {
		w.WriteHeader(a.status)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(a.status)
	w.Write([]byte(a.body))
}
