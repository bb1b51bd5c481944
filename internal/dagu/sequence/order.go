package sequence

// visit is the progress of the walk that sorts steps.
type visit int

const (
	under visit = iota + 1 // the dependencies of the step are being visited
	over
)

// Ordered sorts steps so that each follows the steps that it waits for. If a step indirectly waits for itself through
// another step, Ordered calls circle with both, and the step no longer waits for the other one.
func Ordered(steps []*Node, circle func(s, waited *Node)) (list []*Node) {
	visited := map[*Node]visit{}
	var look func(s *Node)
	look = func(s *Node) {
		visited[s] = under
		var depends []*Node
		for _, d := range s.Depends {
			if visited[d] == under {
				circle(s, d)
				continue
			}
			if depends = append(depends, d); visited[d] == 0 {
				look(d)
			}
		}
		s.Depends, visited[s] = depends, over
		list = append(list, s)
	}
	for _, s := range steps {
		if visited[s] == 0 {
			look(s)
		}
	}
	return list
}
