//! A client's test for cargo test, with acp-replay as the agent: no model, no key, no network.
use std::sync::{Arc, Mutex};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ContentBlock, InitializeRequest, NewSessionRequest, PermissionOptionKind, PromptRequest, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome, SessionNotification, SessionUpdate,
    TextContent,
};
use agent_client_protocol::{AcpAgent, AcpAgentConfig, Agent, Client, Error, on_receive_notification, on_receive_request};

/// The client under test: returns the agent's text, and permits what the agent asks for.
async fn write_the_note(agent: AcpAgent) -> Result<String, Error> {
    let shown = Arc::new(Mutex::new(String::new()));
    let show = shown.clone();
    Client
        .v1()
        .on_receive_notification(
            async move |told: SessionNotification, _| {
                if let SessionUpdate::AgentMessageChunk(chunk) = told.update
                    && let ContentBlock::Text(text) = chunk.content
                {
                    show.lock().unwrap().push_str(&text.text);
                }
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |asked: RequestPermissionRequest, responder, _| {
                let once = asked.options.iter().find(|option| option.kind == PermissionOptionKind::AllowOnce);
                let chosen = SelectedPermissionOutcome::new(once.unwrap().option_id.clone());
                responder.respond(RequestPermissionResponse::new(RequestPermissionOutcome::Selected(chosen)))
            },
            on_receive_request!(),
        )
        .connect_with(agent, |to: ConnectionTo<Agent>| async move {
            to.send_request(InitializeRequest::new(ProtocolVersion::V1)).block_task().await?;
            let session = to.send_request(NewSessionRequest::new("/anywhere")).block_task().await?;
            let prompt = vec![ContentBlock::Text(TextContent::new("please WRITE the note"))];
            to.send_request(PromptRequest::new(session.session_id, prompt)).block_task().await?;
            Ok(())
        })
        .await?;
    Ok(Arc::into_inner(shown).unwrap().into_inner().unwrap())
}

#[tokio::test]
async fn the_agents_text_is_shown() {
    let recording = "tests/fixtures/write-with-permission.jsonl";
    let agent = AcpAgent::new(AcpAgentConfig::new("acp-replay").args(["--timeout", "10s", recording]));
    // An error too when acp-replay's status is not 0: the client did not do all that it did when it was recorded.
    let shown = write_the_note(agent).await.unwrap();
    assert!(shown.starts_with("I will write the file now. Done: "));
}
