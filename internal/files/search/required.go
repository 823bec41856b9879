package search

import (
	"math/bits"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// class is a set of bytes.
type class [4]uint64

func (c *class) add(b byte)      { c[b>>6] |= 1 << (b & 63) }
func (c *class) has(b byte) bool { return c[b>>6]&(1<<(b&63)) != 0 }

// size returns how many bytes are in the set.
func (c *class) size() int {
	n := 0
	for _, word := range c {
		n += bits.OnesCount64(word)
	}
	return n
}

// text is what a text is like: a class for each of its bytes.
type text []class

// texts are alternatives. Without any, nothing is known.
type texts []text

// nothing is what an empty text is like.
var nothing = texts{{}}

// mostTexts and mostBytes bound alternatives, mostBytes all of them together. What
// is beyond is taken for unknown.
const (
	mostTexts = 16
	mostBytes = 256
)

func (ts texts) fit() bool {
	total := 0
	for _, t := range ts {
		total += len(t)
	}
	return len(ts) <= mostTexts && total <= mostBytes
}

// then returns each of some texts with each of others behind it.
func (ts texts) then(others texts) (all texts, ok bool) {
	for _, t := range ts {
		for _, other := range others {
			all = append(all, append(slices.Clip(t), other...))
		}
		if !all.fit() {
			return nil, false
		}
	}
	return all, true
}

// worth tells how much is gained by looking for texts: about how many bits tell the
// least of them from any other text.
func (ts texts) worth() int {
	least := 0
	for i, t := range ts {
		worth := 0
		for _, c := range t {
			worth += 8 - bits.Len(uint(c.size()))
		}
		if i == 0 || worth < least {
			least = worth
		}
	}
	return least
}

// required returns texts of which one is in every match of an expression in a line.
func required(tree *syntax.Regexp) texts {
	if tree.Op == syntax.OpAlternate {
		var all texts
		for _, sub := range tree.Sub {
			some := required(sub)
			if all = append(all, some...); some == nil || !all.fit() {
				return nil
			}
		}
		return all
	}
	r := run{at: nothing}
	r.add(tree)
	r.end(nothing)
	if r.best.worth() == 0 {
		return nil
	}
	return r.best
}

// run goes through what follows one another in an expression.
type run struct {
	at   texts // what there is up to here, since the last that is not known
	best texts // of all that there has been
}

// add goes on with a part of the expression.
func (r *run) add(tree *syntax.Regexp) {
	if all, ok := exact(tree); ok {
		r.then(all)
		return
	}
	switch tree.Op {
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range tree.Sub {
			r.add(sub)
		}
	case syntax.OpLiteral:
		for _, char := range tree.Rune {
			if t, ok := character(char, tree.Flags&syntax.FoldCase != 0); ok {
				r.then(texts{t})
			} else {
				r.end(nothing)
			}
		}
	case syntax.OpPlus, syntax.OpRepeat:
		r.repeat(tree)
	case syntax.OpAlternate:
		r.end(nothing)
		r.keep(required(tree))
	default:
		r.end(nothing)
	}
}

// repeat goes on with something that comes as often as it likes: what it begins with
// belongs to what is before it, and what it ends with to what follows.
func (r *run) repeat(tree *syntax.Regexp) {
	if tree.Op == syntax.OpRepeat && tree.Min == 0 {
		r.end(nothing)
		return
	}
	r.add(tree.Sub[0])
	if all, ok := exact(tree.Sub[0]); ok {
		r.end(all)
	} else {
		r.end(nothing)
	}
}

// then goes on with one of some texts.
func (r *run) then(all texts) {
	if longer, ok := r.at.then(all); ok {
		r.at = longer
	} else {
		r.end(all)
	}
}

// end goes on with what is not known, which ends with one of some texts.
func (r *run) end(with texts) {
	r.keep(r.at)
	r.at = with
}

func (r *run) keep(all texts) {
	if all.worth() > r.best.worth() {
		r.best = all
	}
}

// exact returns the texts that an expression matches in a line, all of them. It
// reports false if they are not known, or too many.
func exact(tree *syntax.Regexp) (texts, bool) {
	switch tree.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return nothing, true
	case syntax.OpLiteral:
		var t text
		for _, char := range tree.Rune {
			next, ok := character(char, tree.Flags&syntax.FoldCase != 0)
			if t = append(t, next...); !ok {
				return nil, false
			}
		}
		return texts{t}, texts{t}.fit()
	case syntax.OpCharClass:
		c, ok := oneOf(tree.Rune)
		return texts{{c}}, ok
	case syntax.OpCapture:
		return exact(tree.Sub[0])
	case syntax.OpQuest:
		all, ok := exact(tree.Sub[0])
		all = append(all, nothing...)
		return all, ok && all.fit()
	case syntax.OpAlternate:
		var all texts
		for _, sub := range tree.Sub {
			some, ok := exact(sub)
			if all = append(all, some...); !ok || !all.fit() {
				return nil, false
			}
		}
		return all, true
	case syntax.OpConcat:
		return sequence(tree.Sub)
	case syntax.OpRepeat:
		if tree.Min != tree.Max || tree.Min > mostBytes {
			return nil, false
		}
		subs := make([]*syntax.Regexp, tree.Min)
		for i := range subs {
			subs[i] = tree.Sub[0]
		}
		return sequence(subs)
	default:
		return nil, false
	}
}

// sequence is exact for expressions one behind the other.
func sequence(trees []*syntax.Regexp) (texts, bool) {
	all := nothing
	for _, tree := range trees {
		next, ok := exact(tree)
		if ok {
			all, ok = all.then(next)
		}
		if !ok {
			return nil, false
		}
	}
	return all, true
}

// character returns what a character is like. It is not known of U+FFFD, which an
// expression takes for any byte that is not UTF-8, too, and of what has upper or
// lower case beyond ASCII, if that does not matter.
func character(char rune, fold bool) (text, bool) {
	if char == utf8.RuneError {
		return nil, false
	}
	if !fold {
		var t text
		for _, b := range []byte(string(char)) {
			var c class
			c.add(b)
			t = append(t, c)
		}
		return t, true
	}
	var c class
	for next := char; ; {
		if next >= utf8.RuneSelf {
			return nil, false
		}
		c.add(byte(next))
		if next = unicode.SimpleFold(next); next == char {
			return text{c}, true
		}
	}
}

// oneOf returns the class of some ranges of characters, if they are all ASCII. There
// is no line feed in a line.
func oneOf(ranges []rune) (c class, ok bool) {
	for i := 0; i < len(ranges); i += 2 {
		if ranges[i+1] >= utf8.RuneSelf {
			return class{}, false
		}
		for char := ranges[i]; char <= ranges[i+1]; char++ {
			if char != '\n' {
				c.add(byte(char))
			}
		}
	}
	return c, true
}
