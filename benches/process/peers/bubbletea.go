// The question asked with Bubble Tea: a list and a marker, without styles.
package main

import (
	"fmt"
	"os"

	tea "github.com/charmbracelet/bubbletea"
)

var options = []string{"PostgreSQL", "MongoDB", "SQLite", "Other"}

type model struct {
	focused int
	chosen  bool
}

func (m model) Init() tea.Cmd { return nil }

func (m model) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	if key, ok := message.(tea.KeyMsg); ok {
		switch key.String() {
		case "up":
			if m.focused > 0 {
				m.focused--
			}
		case "down":
			if m.focused < len(options)-1 {
				m.focused++
			}
		case "enter":
			m.chosen = true
			return m, tea.Quit
		case "ctrl+c":
			return m, tea.Quit
		}
	}
	return m, nil
}

func (m model) View() string {
	view := "Which database should we use for this project?\n"
	for i, option := range options {
		marker := "  "
		if i == m.focused {
			marker = "> "
		}
		view += marker + option + "\n"
	}
	return view
}

func main() {
	program := tea.NewProgram(model{}, tea.WithOutput(os.Stderr))
	last, err := program.StartReturningModel()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if m, ok := last.(model); ok && m.chosen {
		fmt.Println(options[m.focused])
	}
}
