//! http-client URL: the SDK's client transport, with standard input and output for a client.
use agent_client_protocol::{ConnectTo, Stdio};
use agent_client_protocol_http::HttpClient;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let url = std::env::args().nth(1).expect("a URL");
    HttpClient::with_endpoint(url)?.connect_to(Stdio::new()).await?;
    Ok(())
}
