//! http-server COMMAND: the SDK's server transport; prints its port, and starts the command for each connection.
use std::str::FromStr;

use agent_client_protocol::AcpAgent;
use agent_client_protocol_http::AcpHttpServer;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let command = std::env::args().nth(1).expect("a command");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?.port());
    let server = AcpHttpServer::new(move || AcpAgent::from_str(&command).expect("a command"));
    axum::serve(listener, server.into_router()).await?;
    Ok(())
}
