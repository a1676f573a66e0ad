  def install
    bin.install "bin/askuser"
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/askuser"
    zsh_completion.install "share/zsh/site-functions/_askuser"
    fish_completion.install "share/fish/vendor_completions.d/askuser.fish"
    doc.install Dir["share/doc/askuser/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/askuser --version")
    assert_match "questions", shell_output("#{bin}/askuser schema")
  end
