// Package yaml reads the YAML that people write at the head of instructions and
// into small files about them: mappings, sequences and scalars, in blocks and in
// braces. It is not all of YAML: anchors, aliases and tags are text like any
// other, so that a small file can't become a large value, and there is one document
// in a text.
//
// It is lenient where people err: a plain scalar may have a colon and a blank in
// it, and may begin with any character.
package yaml

// Kind says what a [Node] is.
type Kind int

// Kinds.
const (
	Scalar   Kind = iota // a text
	Mapping              // names with values
	Sequence             // elements
)

// Node is a value. A nil one is that of a member that is not there.
type Node struct {
	Kind Kind
	// Text is that of a scalar, with a blank where its lines end: nobody asks how they
	// are joined.
	Text string
	// Quoted says that a scalar is a text whatever it looks like.
	Quoted bool
	// Members are those of a mapping, by name.
	Members map[string]*Node
	// Elements are those of a sequence.
	Elements []*Node
}

// Member returns a member of a mapping, nil if it has none of that name or is none.
func (n *Node) Member(name string) *Node {
	if n == nil {
		return nil
	}
	return n.Members[name]
}

// IsNull tells whether there is no value.
func (n *Node) IsNull() bool {
	if n == nil {
		return true
	}
	if n.Kind != Scalar || n.Quoted {
		return false
	}
	switch n.Text {
	case "", "~", "null", "Null", "NULL":
		return true
	}
	return false
}

// Bool returns the truth value that a scalar is, and whether it is one.
func (n *Node) Bool() (value, ok bool) {
	if n == nil || n.Kind != Scalar || n.Quoted {
		return false, false
	}
	switch n.Text {
	case "true", "True", "TRUE":
		return true, true
	case "false", "False", "FALSE":
		return false, true
	}
	return false, false
}
