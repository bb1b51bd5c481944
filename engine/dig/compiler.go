package dig

import (
	"fmt"
	"slices"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// Node is one task of a compiled tree.
type Node struct {
	Name      string     // full name
	Parent    int        // index of the parent; -1 for the first node
	Upstreams []int      // indexes of the siblings that must succeed first
	Group     bool       // has no operator
	Config    *param.Map // its mapping without subtasks and _export
	Export    *param.Map // its _export; may be nil
	Level     int        `json:",omitempty"` // the language of its file, see Language
}

const noParent = -1

// compiler collects nodes and problems; it continues after a problem to find them all.
type compiler struct {
	language keys.Language
	nodes    []Node
	names    []string // the last segment of each node's name, for paths of problems
	edges    []int    // backing array of the nodes' Upstreams
	empty    *param.Map
	problems []Problem

	patterns *keys.Patterns // of the whole file
}

func (c *compiler) add(parent int, parentName, name string) int {
	c.nodes = append(c.nodes, Node{Name: parentName + name, Parent: parent, Level: c.language.Level})
	c.names = append(c.names, name)
	return len(c.nodes) - 1
}

// fail reports a problem at a task, or at one of its keys.
func (c *compiler) fail(index int, key []string, hint, format string, args ...any) {
	c.problems = append(c.problems, Problem{Path: append(c.path(index), key...), Error: Error{
		Task: c.nodes[index].Name, Message: fmt.Sprintf(format, args...), Hint: hint}})
}

// path lists the keys from the first node, which is excluded, to a node.
func (c *compiler) path(index int) []string {
	var keys []string
	for i := index; c.nodes[i].Parent != noParent; i = c.nodes[i].Parent {
		keys = append(keys, c.names[i])
	}
	slices.Reverse(keys)
	return keys
}
