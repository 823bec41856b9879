package main

// rowResult is one row of the table with everything found for it.
type rowResult struct {
	Measure string `json:"measure"`
	Row     string `json:"row"`
	Title   string `json:"title"`
	Unit    string `json:"unit"`
	// Rounds holds the figure of each round by contestant. A contestant that
	// failed has only the rounds before that.
	Rounds  map[string][]float64 `json:"rounds"`
	Medians map[string]float64   `json:"medians"`
	// Ratios holds the median over the rounds of "a/b", by that name.
	Ratios  map[string]float64 `json:"ratios"`
	Budget  string             `json:"budget,omitempty"`
	Verdict string             `json:"verdict,omitempty"` // ok, MISS, or "" when it cannot be judged

	budget *budget
}

// results are the rows of the measures that were selected, in their order.
type results struct {
	rows []*rowResult
}

// ratioPairs are the comparisons shown, in this order.
var ratioPairs = [][2]string{{peerName, bareName}, {airlockName, bareName}, {airlockName, peerName}}

func ratioKey(a, b string) string { return a + "/" + b }

func newResults(selected []measure) *results {
	res := &results{}
	for _, m := range selected {
		for _, r := range m.rows {
			res.rows = append(res.rows, &rowResult{
				Measure: m.name, Row: r.key, Title: r.title, Unit: r.unit,
				Rounds: map[string][]float64{}, Medians: map[string]float64{}, Ratios: map[string]float64{},
				Budget: r.budget.text(r.unit), budget: r.budget,
			})
		}
	}
	return res
}

// add records one round of a measure.
func (res *results) add(m measure, who string, s sample) {
	for _, r := range res.rows {
		if v, ok := s[r.Row]; ok && r.Measure == m.name {
			r.Rounds[who] = append(r.Rounds[who], v)
		}
	}
}

// finish computes medians, ratios and verdicts.
func (res *results) finish() {
	for _, r := range res.rows {
		for who, values := range r.Rounds {
			r.Medians[who] = median(values)
		}
		for _, pair := range ratioPairs {
			if ratio, ok := medianRatio(r.Rounds[pair[0]], r.Rounds[pair[1]]); ok {
				r.Ratios[ratioKey(pair[0], pair[1])] = ratio
			}
		}
		r.Verdict = r.budget.judge(r.Medians, r.Ratios)
	}
}

// misses counts the budgets that were missed.
func (res *results) misses() int {
	n := 0
	for _, r := range res.rows {
		if r.Verdict == "MISS" {
			n++
		}
	}
	return n
}
