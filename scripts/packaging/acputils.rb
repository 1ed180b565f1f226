class Acputils < Formula
  desc "Unix filters for streams of the Agent Client Protocol"
  homepage "https://agentclientprotocol.com"
  url "@URL@"
  sha256 "@SHA256@"
  license "ISC"

  depends_on "uthash" => :build
  depends_on "jq"
  depends_on "curl"
  depends_on "libnghttp2"
  depends_on "openssl@3"
  depends_on "md4c"
  depends_on "ncurses"

  def install
    system "make", "install", "PREFIX=#{prefix}"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/acp-tap --version")
  end
end
