package environ

import "unicode"

// pattern matches whole names, whatever their case: '*' stands for any run of
// characters, '?' for one, everything else for itself.
type pattern []rune

func patterns(texts []string) []pattern {
	all := make([]pattern, len(texts))
	for i, text := range texts {
		all[i] = fold(text)
	}
	return all
}

// fold makes characters that differ in case only the same.
func fold(s string) []rune {
	folded := []rune(s)
	for i, r := range folded {
		folded[i] = unicode.ToLower(unicode.ToUpper(r))
	}
	return folded
}

func matchAny(all []pattern, name string) bool {
	folded := fold(name)
	for _, p := range all {
		if p.match(folded) {
			return true
		}
	}
	return false
}

// match goes back to the newest '*' only, which is all that is ever needed: the
// time is at most the product of both lengths.
func (p pattern) match(name []rune) bool {
	at, star, resume := 0, -1, 0
	for i := 0; i < len(name); {
		switch {
		case at < len(p) && p[at] == '*':
			star, resume = at, i
			at++
		case at < len(p) && (p[at] == '?' || p[at] == name[i]):
			at++
			i++
		case star >= 0:
			resume++
			at, i = star+1, resume
		default:
			return false
		}
	}
	for at < len(p) && p[at] == '*' {
		at++
	}
	return at == len(p)
}
