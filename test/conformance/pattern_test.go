package conformance

import (
	"strings"
	"testing"
)

// tree decodes JSON that a test has written.
func tree(t *testing.T, text string) any {
	t.Helper()
	v, err := decode([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, tree string
		want          string // part of the first mismatch; empty: it matches
	}{
		{`{"a":1,"b":[true,null,"x"]}`, `{"b":[true,null,"x"],"a":1}`, ``},
		{`1`, `1.0`, `expected 1, came 1.0`},
		{`1`, `"1"`, `expected 1, came "1"`},
		{`9223372036854775807`, `9223372036854775806`, `expected 9223372036854775807`},
		{`null`, `false`, `the whole: expected null, came false`},
		{`{"a":null}`, `{}`, `.a: expected it to be there`},
		{`{}`, `{"a":null}`, `.a: expected no such member, came null`},
		{`[1,2]`, `[1]`, `expected 2 elements`},
		{`[1,2]`, `[2,1]`, `[0]: expected 1, came 2`},
		{`[]`, `{}`, `expected 0 elements`},
		{`{}`, `[]`, `expected an object`},
		{`{"a":{"b":["x"]}}`, `{"a":{"b":["y"]}}`, `.a.b[0]: expected "x", came "y"`},

		{`{"$any":true}`, `{"a":[1]}`, ``},
		{`{"$type":"integer"}`, `12`, ``},
		{`{"$type":"integer"}`, `1.5`, `something of type integer`},
		{`{"$type":"fraction"}`, `1e3`, ``},
		{`{"$type":"null"}`, `null`, ``},
		{`{"$type":"object"}`, `[]`, `something of type object`},
		{`{"$match":"a+"}`, `"aa"`, ``},
		{`{"$match":"a+"}`, `"aab"`, `text that matches a+`},
		{`{"$match":"a|b"}`, `"ac"`, `text that matches`},
		{`{"$match":"a.b"}`, `"a\nb"`, ``},
		{`{"$match":"1"}`, `1`, `text that matches 1, came 1`},
		{`{"$base64":"hi\n"}`, `"aGkK"`, ``},
		{`{"$base64":"hi"}`, `"aGkK"`, `decoded: expected "hi"`},
		{`{"$base64":"h"}`, `"aA"`, `padded base64`},
		{`{"$base64":"h"}`, `"aB=="`, `padded base64`}, // bits beyond the end
		{`{"$base64":"1"}`, `1`, `padded base64`},
		{`{"$open":{"a":1}}`, `{"a":1,"b":2}`, ``},
		{`{"$open":{"a":1}}`, `{"b":2}`, `.a: expected it to be there`},
		{`{"a":{"$optional":1}}`, `{}`, ``},
		{`{"a":{"$optional":1}}`, `{"a":1}`, ``},
		{`{"a":{"$optional":1}}`, `{"a":2}`, `.a: expected 1, came 2`},
		{`{"$between":[1,3]}`, `3`, ``},
		{`{"$between":[1,3]}`, `4`, `an integer from 1 to 3, came 4`},
		{`{"$between":[1,3]}`, `2.0`, `an integer from 1 to 3`},
		{`{"$size":2}`, `[1,2]`, ``},
		{`{"$size":{"$between":[3,4]}}`, `"é😀"`, `size: expected an integer from 3 to 4, came 6`},
		{`{"$not":1}`, `2`, ``},
		{`{"$not":1}`, `1`, `anything but 1`},
		{`{"$oneOf":[1,null]}`, `null`, ``},
		{`{"$oneOf":[1,null]}`, `0`, `one of [1,null]`},
		{`{"$each":{"$type":"string"}}`, `[]`, ``},
		{`{"$each":{"$type":"string"}}`, `["a",1]`, `[1]: expected something of type string`},
		{`{"$has":1}`, `[2,1]`, ``},
		{`{"$has":1}`, `[2]`, `an element 1`},
		{`{"$lines":["b","a"]}`, `"a\nb\n"`, ``},
		{`{"$lines":["b","a"]}`, `"a\nb"`, `whole lines`},
		{`{"$lines":["a"]}`, `"a\na\n"`, `the lines ["a"]`},
		{`{"$lines":[]}`, `""`, ``},
		{`{"$repeat":["ab",3]}`, `"ababab"`, ``},
		{`{"$concat":["a",{"$hex":"0a"}]}`, `"a\n"`, ``},
		{`{"$size":3,"$match":"a*"}`, `"aaa"`, ``},
		{`{"$size":3,"$match":"a*"}`, `"aab"`, `text that matches`},
		{`"${known}"`, `"value"`, ``},
		{`"<${known}>"`, `"<value>"`, ``},
		{`"${known}"`, `"other"`, `expected "value", came "other"`},

		{`{"$output":{"stdout":"ab","stderr":"c"}}`, `[{"seq":1,"stream":"stdout","chunk":"YQ=="},{"seq":2,"stream":"stderr","chunk":"Yw=="},{"seq":5,"stream":"stdout","chunk":"Yg=="}]`, ``},
		{`{"$output":{"stdout":"a"}}`, `[{"seq":1,"stream":"stdout","chunk":"YQ=="},{"seq":2,"stream":"stderr","chunk":"Yw=="}]`, `joined.stderr: expected no such member`},
		{`{"$output":{"stdout":"ab"}}`, `[{"seq":2,"stream":"stdout","chunk":"YQ=="},{"seq":2,"stream":"stdout","chunk":"Yg=="}]`, `[1].seq: expected more than 2`},
		{`{"$output":{"stdout":""}}`, `[{"seq":1,"stream":"stdout","chunk":""}]`, `[0].chunk decoded`},
		{`{"$output":{"stdout":"a"}}`, `[{"seq":1,"stream":"stdout","chunk":"YQ==","x":1}]`, `[0].x: expected no such member`},
		{`{"$output":{}}`, `[]`, ``},
	} {
		pattern := tree(t, test.pattern)
		if err := checkPattern(pattern, map[string]bool{"known": true}); err != nil {
			t.Errorf("%s: %v", test.pattern, err)
			continue
		}
		wrong := match(pattern, tree(t, test.tree), variables{"known": "value"})
		switch {
		case test.want == "" && len(wrong) > 0:
			t.Errorf("%s does not match %s: %v", test.pattern, test.tree, wrong)
		case test.want != "" && (len(wrong) == 0 || !strings.Contains(wrong[0].String(), test.want)):
			t.Errorf("%s against %s: %v, want %s", test.pattern, test.tree, wrong, test.want)
		}
	}
}

func TestCapture(t *testing.T) {
	t.Parallel()
	vars := variables{}
	wrong := match(tree(t, `{"a":{"$capture":"x","$type":"integer"},"b":"${x}"}`), tree(t, `{"a":9007199254740993,"b":9007199254740993}`), vars)
	if len(wrong) > 0 || vars["x"] != number("9007199254740993") {
		t.Errorf("%v, captured %v", wrong, vars)
	}
	if got, err := expand("<${x}>", vars); err != nil || got != "<9007199254740993>" {
		t.Errorf("%v, error %v", got, err)
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ tree, want, err string }{
		{`{"a":["${n}","${n}0"]}`, `{"a":[1,"10"]}`, ``},
		{`{"$base64":"hi\n"}`, `"aGkK"`, ``},
		{`{"$base64":{"$repeat":["a",3]}}`, `"YWFh"`, ``},
		{`{"$json":{"b":"${n}","a":[null]}}`, `"{\"a\":[null],\"b\":1}"`, ``},
		{`{"$repeat":[{"x":1},2]}`, `[{"x":1},{"x":1}]`, ``},
		{`{"$repeat":["x",0]}`, `""`, ``},
		{`{"$concat":["a","${n}b"]}`, `"a1b"`, ``},
		{`{"$upper":"abc"}`, `"ABC"`, ``},
		{`{"$sandbox":["read root"]}`, `{"cwd":"file:///d","permissions":{"file_system":{"entries":[{"access":"read","path":{"type":"special","value":{"kind":"root"}}}],"type":"restricted"},"network":"restricted","type":"managed"},"windowsSandboxLevel":"disabled","workspaceRoots":["file:///d"]}`, ``},
		{`{"$sandbox":["skip deny ${dir}/x y","deny glob **/a b","write project_roots sub","network enabled","depth 2","cwd","roots file:///a file:///b"]}`, `{"permissions":{"file_system":{"entries":[{"access":"deny","missing_path_behavior":"skip","path":{"path":"file:///d/x y","type":"path"}},{"access":"deny","path":{"pattern":"**/a b","type":"glob_pattern"}},{"access":"write","path":{"type":"special","value":{"kind":"project_roots","subpath":"sub"}}}],"glob_scan_max_depth":2,"type":"restricted"},"network":"enabled","type":"managed"},"windowsSandboxLevel":"disabled","workspaceRoots":["file:///a","file:///b"]}`, ``},
		{`{"$sandbox":["cwd file:///c","roots"]}`, `{"cwd":"file:///c","permissions":{"file_system":{"entries":[],"type":"restricted"},"network":"restricted","type":"managed"},"windowsSandboxLevel":"disabled","workspaceRoots":[]}`, ``},
		{`{"$sandbox":["see root"]}`, ``, `is no line of a policy`},
		{`{"$sandbox":["depth two"]}`, ``, `must be a number`},
		{`{"$sandbox":["read /etc"]}`, ``, `names neither a kind of place nor a URI`},
		{`{"$sandbox":"read root"}`, ``, `needs the lines of a policy`},
		{`{"$hex":"zz"}`, ``, `invalid byte`},
		{`{"$repeat":["x",-1]}`, ``, `needs how often`},
		{`{"$repeat":["xxxx",100000000]}`, ``, `would make 400000000 bytes`},
		{`{"$repeat":[1,100000000]}`, ``, `would make 100000000 elements`},
		{`{"$concat":["a",1]}`, ``, `can't be made of`},
		{`"${list}x"`, ``, `list is no text or number`},
		{`"${none}"`, ``, `nothing has been captured as none`},
	} {
		got, err := expand(tree(t, test.tree), variables{"n": number("1"), "list": []any{}, "dir": "file:///d"})
		switch {
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%s: error %v, want %s", test.tree, err, test.err)
		case test.err == "" && (err != nil || encode(got) != test.want):
			t.Errorf("%s: %s, error %v, want %s", test.tree, encode(got), err, test.want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `{`, `{"a":1,"a":1}`, `1 2`, `[1,]`, "\"\xff\"", `nul`, `{"a":1}}`} {
		if v, err := decode([]byte(text)); err == nil {
			t.Errorf("%q was read as %v", text, v)
		}
	}
}

// TestWhole: the events of a process are all there when closed has come, and
// every number up to its.
func TestWhole(t *testing.T) {
	t.Parallel()
	e := func(method string, seq int64) event { return event{method: "process/" + method, seq: seq} }
	for _, test := range []struct {
		events []event
		want   bool
	}{
		{nil, false},
		{[]event{e("exited", 1)}, false},
		{[]event{e("exited", 1), e("closed", 2)}, true},
		{[]event{e("closed", 2), e("exited", 1)}, true},
		{[]event{e("exited", 1), e("closed", 3)}, false},
		{[]event{e("output", 1), e("output", 1), e("closed", 3)}, false},
	} {
		if got := whole(test.events); got != test.want {
			t.Errorf("%v: %v", test.events, got)
		}
	}
}
