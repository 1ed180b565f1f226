class Acputils < Formula
  desc "Unix filters for streams of the Agent Client Protocol"
  homepage "https://agentclientprotocol.com"
  url "@URL@"
  sha256 "@SHA256@"
  license "ISC"

  depends_on "uthash" => :build
  depends_on "jq"
  depends_on "libwebsockets"

  def install
    system "make", "install", "PREFIX=#{prefix}"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/acp-tap --version")
  end
end
